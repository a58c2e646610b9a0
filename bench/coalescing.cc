// How the kernels of a training step coalesce: ./lockstep bench --coalescing [WORKLOAD [KERNEL]].
//
// For each kernel of our own, over a step of the workload (without one: of all three): requests, that is instructions of a warp that touch
// global memory; lanes that take part in one; 32-byte sectors that one touches, and the least that could hold what it asks for; and
// their ratio, for loads, for stores and for both. 32 lanes with a float each are best served by 4 sectors. It is counted on the virtual
// GPU, in its faithful mode, on the code that nvcc gets (simulator/gpu/coalescing says how, and what it can't see). Below the table:
// which kernels stay under 80 %, and why. With the name of a kernel: the same for each of its arguments, numbered from 0.
#include <cstdio>
#include <cstring>

#include "bench/coalescing_steps.h"

using namespace lockstep;

namespace {

double percent(double ratio) { return 100 * ratio; }
unsigned long long whole(std::uint64_t n) { return n; }

void print_head(const char* what) {
  std::printf("%-32s %9s %6s %9s %8s %7s %7s %7s\n", what, "requests", "lanes", "sectors", "least", "loads", "stores", "both");
}

void print_line(const std::string& name, const coalescing::Count& loads, const coalescing::Count& stores) {
  coalescing::Count all = loads;
  all += stores;
  const double least = all.requests > 0 ? static_cast<double>(all.least) / static_cast<double>(all.requests) : 0;
  const auto share = [](const coalescing::Count& count) {
    char text[16] = "-";
    if (count.requests > 0) std::snprintf(text, sizeof(text), "%.1f%%", percent(count.efficiency()));
    return std::string(text);
  };
  std::printf("%-32.32s %9llu %6.1f %9.2f %8.2f %7s %7s %7s\n", name.c_str(), whole(all.requests), all.lanes_per_request(),
              all.sectors_per_request(), least, share(loads).c_str(), share(stores).c_str(), share(all).c_str());
}

void print_step(const bench::CountedStep& step) {
  const coalescing::Counts counts = bench::count_step(step);
  std::printf("%s, %d replica%s, global batch %lld; sectors are those of a request\n", step.workload, step.replicas,
              step.replicas > 1 ? "s" : "", static_cast<long long>(step.batch));
  print_head("kernel");
  coalescing::Count loads, stores;
  for (const auto& [kernel, count] : counts) {
    print_line(kernel, count.loads(), count.stores());
    loads += count.loads();
    stores += count.stores();
  }
  print_line("all", loads, stores);
  for (const auto& [kernel, count] : counts) {
    if (const bench::Excuse* const excuse = bench::excuse_of(kernel);
        excuse != nullptr && count.all().efficiency() < bench::kExpectedEfficiency)
      std::printf("  %s: %s\n", kernel.c_str(), excuse->reason);
  }
  std::printf("\n");
}

int print_kernel(const bench::CountedStep& step, const std::string& kernel) {
  const coalescing::Counts counts = bench::count_step(step);
  const auto found = counts.find(kernel);
  if (found == counts.end()) {
    std::fprintf(stderr, "a step of %s does not launch %s\n", step.workload, kernel.c_str());
    return 2;
  }
  print_head(kernel.c_str());
  for (const auto& [number, argument] : found->second.arguments)
    print_line("argument " + std::to_string(number), argument.loads, argument.stores);
  print_line("all", found->second.loads(), found->second.stores());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    for (const bench::CountedStep& step : bench::kCountedSteps) print_step(step);
    return 0;
  }
  for (const bench::CountedStep& step : bench::kCountedSteps) {
    if (std::strcmp(argv[1], step.workload) != 0) continue;
    if (argc > 2) return print_kernel(step, argv[2]);
    print_step(step);
    return 0;
  }
  std::fprintf(stderr, "%s is none of mnist, reuters, mobilenet-v2-96\n", argv[1]);
  return 2;
}
