// What the warps of a training step do: ./lockstep bench --warps [WORKLOAD [KERNEL]].
//
// For each kernel of our own, over a step of the workload (without one: of all three), from nvcc's PTX on the virtual GPU: instructions of
// warps; lanes that take part in one; branches at which not all lanes go the same way; requests to global memory, 32-byte sectors
// that one touches, and the least that could hold what it asks for (32 lanes with a float each are best served by 4), with their
// ratio; and passes of a request to shared memory, which are 1 without bank conflicts. What caches do is not counted. Below the table:
// which kernels stay under 80 % of the sectors, and why. With the name of a kernel: the same by line of its source.
#include <cstdio>
#include <fstream>

#include "bench/warp_steps.h"

using namespace lockstep;

namespace {

double ratio(std::uint64_t a, std::uint64_t b) { return b == 0 ? 0 : static_cast<double>(a) / static_cast<double>(b); }

constexpr char kColumns[] = "instructions  lanes  diverge   requests  sectors    least  needed  shared";

std::string line_of(const ptx::Count& count) {
  char text[160];
  int end = std::snprintf(text, sizeof(text), "%12llu %6.1f ", static_cast<unsigned long long>(count.instructions),
                          ratio(count.lanes, count.instructions));
  const auto add = [&](bool there, const char* format, const auto&... values) {
    const auto left = sizeof(text) - static_cast<std::size_t>(end);
    end += there ? std::snprintf(text + end, left, format, values...) : 0;
  };
  add(count.branches > 0, "%7.1f%%", 100 * ratio(count.divergent, count.branches));
  add(count.branches == 0, "%8s", "-");
  add(count.requests > 0, " %10llu %8.2f %8.2f %6.1f%%", static_cast<unsigned long long>(count.requests),
      ratio(count.sectors, count.requests), ratio(count.fewest, count.requests), 100 * bench::efficiency(count));
  add(count.requests == 0, " %10s %8s %8s %7s", "-", "-", "-", "-");
  add(count.shared_requests > 0, " %7.2f", ratio(count.passes, count.shared_requests));
  add(count.shared_requests == 0, " %7s", "-");
  return text;
}

void print_step(const bench::CountedStep& step) {
  const auto counts = bench::WarpCounts(step).by_kernel();
  std::printf("%s, %d replica%s, global batch %lld; sectors and passes are those of a request\n%-28s %s\n", step.workload, step.replicas,
              step.replicas > 1 ? "s" : "", static_cast<long long>(step.batch), "kernel", kColumns);
  ptx::Count all;
  for (const auto& [kernel, count] : counts) {
    std::printf("%-28.28s %s\n", kernel.c_str(), line_of(count).c_str());
    all += count;
  }
  std::printf("%-28s %s\n", "all", line_of(all).c_str());
  for (const auto& [kernel, count] : counts) {
    if (const bench::Excuse* const excuse = bench::excuse_of(kernel);
        excuse != nullptr && bench::efficiency(count) < bench::kExpectedEfficiency)
      std::printf("  %s: %s\n", kernel.c_str(), excuse->reason);
  }
  std::printf("\n");
}

std::vector<std::string> lines_of(const std::string& file) {
  std::vector<std::string> lines;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

int print_kernel(const bench::CountedStep& step, const std::string& kernel) {
  const auto lines = bench::WarpCounts(step).by_line(kernel);
  if (lines.empty()) {
    std::fprintf(stderr, "a step of %s does not launch %s\n", step.workload, kernel.c_str());
    return 2;
  }
  std::string file = "none yet";
  std::vector<std::string> source;
  ptx::Count all;
  for (const auto& line : lines) {
    if (line.file != file) {
      file = line.file;
      source = lines_of(file);
      std::printf("%s\n%5s %s\n", file.c_str(), "line", kColumns);
    }
    const auto index = static_cast<std::size_t>(line.line - 1);
    std::printf("%5d %s  %s\n", line.line, line_of(line.count).c_str(), index < source.size() ? source[index].c_str() : "");
    all += line.count;
  }
  std::printf("%5s %s\n", "all", line_of(all).c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    for (const bench::CountedStep& step : bench::kCountedSteps) print_step(step);
    return 0;
  }
  const bench::CountedStep* const step = bench::find_counted_step(argv[1]);
  if (step == nullptr) {
    std::fprintf(stderr, "%s is none of mnist, reuters, mobilenet-v2-96\n", argv[1]);
    return 2;
  }
  if (argc > 2) return print_kernel(*step, argv[2]);
  print_step(*step);
  return 0;
}
