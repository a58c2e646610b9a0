// What it costs to ask the GPU for nothing: a kernel on an empty view, launched and waited for, and launched in a row.
// On the virtual GPU this is the overhead of the queue and the workers; a step of MNIST makes some 40 launches a replica.
#include <benchmark/benchmark.h>

#include "elementwise_kernels.h"
#include "launch.h"
#include "stream.h"

namespace {

void launch_nothing(const lockstep::Stream& stream) {
  lockstep::launch(stream, "fill", {}, {1, 1}, lockstep::kernels::fill, 0.0F, lockstep::View<float>{});
}

void empty_launch_and_wait(benchmark::State& state) {
  const lockstep::Stream stream(0);
  for ([[maybe_unused]] auto _ : state) {
    launch_nothing(stream);
    stream.synchronize();
  }
}
BENCHMARK(empty_launch_and_wait)->UseRealTime();

void empty_launches_in_a_row(benchmark::State& state) {
  const lockstep::Stream stream(0);
  for ([[maybe_unused]] auto _ : state) {
    for (std::int64_t i = 0; i < state.range(0); ++i) launch_nothing(stream);
    stream.synchronize();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(empty_launches_in_a_row)->Arg(100)->UseRealTime();

}  // namespace
