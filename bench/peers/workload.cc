// One of the reference models on data in memory, trained window by window on command: Lockstep's side of the comparison with its peers.
//
// workload NAME REPLICAS BATCH SAMPLES [one-copy]; NAME: mnist, reuters, mobilenet-v2-96, mobilenet-v2-224. After its first step it prints
// a line; then each line "N" on stdin trains N steps with `fit` and answers with a line of JSON, as the other peers of peers.py do.
// workload bandwidth: what this machine's memory gives all cores together.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "bench/workloads.h"

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

// Bytes a second, read and written, of all cores that copy buffers far larger than their caches; the best of several rounds.
double memory_bandwidth() {
  constexpr std::size_t kBytes = std::size_t{192} << 20;
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::vector<char>> from(cores, std::vector<char>(kBytes, 1)), to(cores, std::vector<char>(kBytes, 2));
  double best = 0;
  for (int round = 0; round < 7; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    std::vector<std::thread> threads;
    for (unsigned c = 0; c < cores; ++c) threads.emplace_back([&, c] { std::memcpy(to[c].data(), from[c].data(), kBytes); });
    for (std::thread& thread : threads) thread.join();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    best = std::max(best, 2.0 * static_cast<double>(kBytes) * cores / seconds);
  }
  return best;
}

// Bytes of a step that only copies move, as the engine counted its work. A replica but the first writes a gradient of its own, replica 0
// reads it, the sum is read and written again; its update reads that sum and reads and writes variables and slots of its own.
double bytes_of_copies(const Model& model) {
  double bytes = 0;
  for (const ReplicaReport& one : replica_reports(model)) {
    if (one.replica == 0 || one.steps == 0 || one.replications == 0) continue;
    const double steps = static_cast<double>(one.steps), updated = static_cast<double>(one.updates) / steps;
    const double variables = static_cast<double>(one.replicated_bytes) / static_cast<double>(one.replications);
    bytes += 4 * static_cast<double>(one.summed_bytes) / steps +
             updated * (4 * static_cast<double>(model.count_trainable_params()) + 2 * variables);
  }
  return bytes;
}

// Of copies in memory of their own; where there is one, there is nothing to compare.
const char* identical(const Model& model, int replicas) {
  const std::vector<std::uint64_t> sums = model.checksums();
  if (sums.size() != static_cast<std::size_t>(replicas)) return "null";
  return std::all_of(sums.begin(), sums.end(), [&](std::uint64_t sum) { return sum == sums.front(); }) ? "true" : "false";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "bandwidth") {
    std::printf("{\"bytes_per_second\": %.0f}\n", memory_bandwidth());
    return 0;
  }
  if (argc != 5 && argc != 6) return 2;
  const Workload what = find_workload(argv[1]);
  const int replicas = std::atoi(argv[2]);
  const std::int64_t batch = std::atoll(argv[3]), samples = std::atoll(argv[4]);
  const Array x = inputs(what, samples), y = labels(what, samples);
  const MirroredStrategy strategy = logical_gpus(replicas, {argc == 6 ? argv[5] : ""});
  Model model = strategy.scope([&] { return what.make(); });
  model.train_on_batch(x.slice(0, batch), y.slice(0, batch));
  std::printf("{\"first_step\": true}\n");
  std::fflush(stdout);

  const Dataset data = Dataset::from_arrays(x, y).shuffle(samples, 3).batch(batch).prefetch().repeat();
  long steps = 0;
  while (std::scanf("%ld", &steps) == 1) {
    const History history = model.fit(data, FitOptions().steps_per_epoch(steps).verbose(Verbose::silent));
    std::printf(
        "{\"steps\": %ld, \"seconds\": %.6f, \"loss\": %.6f, \"peak_mib\": %.1f, \"replicas_identical\": %s, \"bytes_of_copies\": %.0f}\n",
        steps, history.training_seconds, history.last("loss"), static_cast<double>(peak_kib()) / 1024, identical(model, replicas),
        bytes_of_copies(model));
    std::fflush(stdout);
  }
}
