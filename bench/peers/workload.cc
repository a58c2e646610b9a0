// One of the reference models on data in memory, trained window by window on command: Lockstep's side of the comparison with its peers.
//
// workload NAME REPLICAS BATCH SAMPLES; NAME: mnist, reuters, mobilenet-v2-96, mobilenet-v2-224. After its first step it says so; then each
// line "N" on stdin trains N steps with `fit` and answers with a line of JSON. peers.py drives it and the others alike.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "../workloads.h"

using namespace lockstep;
using namespace lockstep::bench;

namespace {

long peak_kib() {
  std::FILE* status = std::fopen("/proc/self/status", "r");
  char line[256];
  long kib = 0;
  while (status != nullptr && std::fgets(line, sizeof(line), status) != nullptr)
    if (std::strncmp(line, "VmHWM:", 6) == 0) kib = std::strtol(line + 6, nullptr, 10);
  if (status != nullptr) std::fclose(status);
  return kib;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const Workload what = find_workload(argv[1]);
  const int replicas = std::atoi(argv[2]);
  const std::int64_t batch = std::atoll(argv[3]), samples = std::atoll(argv[4]);
  const Array x = inputs(what, samples), y = labels(what, samples);
  const MirroredStrategy strategy = logical_gpus(replicas);
  Model model = strategy.scope([&] { return what.make(); });
  model.train_on_batch(x.slice(0, batch), y.slice(0, batch));
  std::printf("{\"first_step\": true}\n");
  std::fflush(stdout);

  const Dataset data = Dataset::from_arrays(x, y).shuffle(samples, 3).batch(batch).prefetch().repeat();
  long steps = 0;
  while (std::scanf("%ld", &steps) == 1) {
    const History history = model.fit(data, FitOptions().steps_per_epoch(steps).verbose(Verbose::silent));
    std::printf("{\"steps\": %ld, \"seconds\": %.6f, \"loss\": %.6f, \"peak_mib\": %.1f, \"replicas_identical\": %s}\n", steps,
                history.training_seconds, history.last("loss"), static_cast<double>(peak_kib()) / 1024, [&] {
                  const std::vector<std::uint64_t> sums = model.checksums();
                  for (const std::uint64_t sum : sums)
                    if (sum != sums.front()) return "false";
                  return "true";
                }());
    std::fflush(stdout);
  }
}
