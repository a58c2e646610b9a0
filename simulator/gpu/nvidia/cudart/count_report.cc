#include "simulator/gpu/nvidia/cudart/count_report.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace lockstep::nvidia {

namespace {

std::string pair_of(std::uint64_t count, const char* word, std::uint64_t other) {
  return std::to_string(count) + word + std::to_string(other);
}

void print_row(const std::string& place, const ptx::Count& count) {
  const double lanes = 100.0 * static_cast<double>(count.lanes) / static_cast<double>(count.instructions * ptx::kLanes);
  std::fprintf(stderr, "  %12llu %6.1f%% %14s %16s %16s %14s  %s\n", static_cast<unsigned long long>(count.instructions), lanes,
               pair_of(count.divergent, " of ", count.branches).c_str(), pair_of(count.sectors, " / ", count.fewest).c_str(),
               pair_of(count.passes, " / ", count.fewest_passes).c_str(), pair_of(count.turns, " / ", count.atomics).c_str(),
               place.c_str());
}

}  // namespace

bool counts_wanted() {
  const char* const wanted = std::getenv("LOCKSTEP_SIM_COUNTS");
  return wanted != nullptr && std::strcmp(wanted, "1") == 0;
}

void report_counts(int device, const ptx::Module& module, const ptx::Code& kernel, const std::string& name, const ptx::Counts& counts) {
  const ptx::Count whole = counts.of(kernel);
  if (whole.instructions == 0) return;
  std::fprintf(stderr, "virtual GPU %d: counts of kernel '%s'\n", device, name.c_str());
  std::fprintf(stderr, "  %12s %7s %14s %16s %16s %14s\n", "instructions", "lanes", "diverging", "sectors / least", "passes / least",
               "turns / atomics");
  print_row("in all", whole);
  for (const ptx::Counts::SourceLine& line : counts.by_line(module, kernel)) {
    const std::string file = line.file.empty() ? "PTX" : line.file.substr(line.file.rfind('/') + 1);
    print_row(file + " line " + std::to_string(line.line), line.count);
  }
}

}  // namespace lockstep::nvidia
