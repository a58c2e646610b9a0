// What projecting costs: a recorded step played by more and more nodes. Time and memory are linear in ranks times operations.
//
//   play/nodes      a step of so many operations on each of 8 GPUs, played by so many nodes: operations a second
//   mobilenet       the whole of `lockstep project cats-vs-dogs --machine h100x8 --nodes 128` takes about as long as play/128 and the
//                   recording (run that command under `time -v` for its seconds and memory)
#include <benchmark/benchmark.h>

#include "recording.h"

namespace {

using namespace lockstep::clock;

// A step as MobileNetV2's is for the clock: some 700 kernels on one stream of each GPU, issued by a host thread each, and a few all-reduces
// on another.
Recording a_step(const Machine& machine, int kernels, int buckets) {
  Recording recording;
  Timeline timeline;
  const Hardware hardware(machine, timeline, machine.gpus_per_node);
  const int gpus = machine.gpus_per_node;
  std::vector<std::uint64_t> compute(static_cast<std::size_t>(gpus), 0), communication(static_cast<std::size_t>(gpus), 0);
  std::vector<std::shared_ptr<Meeting>> entries, exits;
  for (int b = 0; b < buckets; ++b) {
    for (auto* meetings : {&entries, &exits}) {
      meetings->push_back(std::make_shared<Meeting>());
      meetings->back()->expected = gpus;
    }
  }
  const CollectiveShape shape{Collective::all_reduce, 4 << 20, gpus, {}};
  for (int g = 0; g < gpus; ++g) {
    const auto d = static_cast<std::size_t>(g);
    for (int k = 0; k < kernels; ++k) {
      recording.spend(g, hardware.launch());
      recording.append({2 * g, ++compute[d]}, hardware.kernel(g, Kind::streaming, Arithmetic::fp32, 0, 2e7), g, g, nullptr);
      if ((k + 1) % (kernels / buckets) != 0 || k / (kernels / buckets) >= buckets) continue;
      const auto b = static_cast<std::size_t>(k / (kernels / buckets));
      Task entry, exit;
      entry.after.push_back({2 * g, compute[d]});
      entry.meeting = entries[b];
      exit.meeting = exits[b];
      recording.append({2 * g + 1, ++communication[d]}, entry, g, g, nullptr);
      recording.append({2 * g + 1, ++communication[d]}, hardware.collective(g, {}, 4 << 20), g, g, &shape);
      recording.append({2 * g + 1, ++communication[d]}, exit, g, g, nullptr);
    }
    recording.wait(g, Place{2 * g + 1, communication[d]});
  }
  return recording;
}

void play(benchmark::State& state) {
  const Machine machine = *find_machine("h100x8");
  const Recording recording = a_step(machine, 700, 4);
  Recording::Plan plan;
  plan.nodes = static_cast<int>(state.range(0));
  std::uint64_t tasks = 0;
  for ([[maybe_unused]] auto _ : state) tasks = recording.play(machine, plan).tasks;
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(tasks));
  state.counters["ranks"] = static_cast<double>(plan.nodes * machine.gpus_per_node);
  state.counters["operations"] = static_cast<double>(tasks);
}
BENCHMARK(play)->ArgName("nodes")->RangeMultiplier(4)->Range(2, 128)->Unit(benchmark::kMillisecond);

}  // namespace
