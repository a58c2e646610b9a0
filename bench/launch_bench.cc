// What it costs to ask the GPU for nothing: kernels on empty or tiny views, where all the time is the queue and the workers.
// A step of MNIST makes some 40 launches a replica, one of MobileNetV2 some 600.
//
//   launch              the launching thread's own cost (aim: 1 us); the device is held back, so that nothing else runs
//   launch_and_wait     from the call until the host knows that it is done
//   chain/streams       dependent small kernels in a row on each of several streams: items a second
//   graph/nodes         a launch of a graph of so many kernels, the launching thread's cost for each
#include <benchmark/benchmark.h>

#include <atomic>
#include <memory>
#include <vector>

#include "engine/device/check.h"
#include "engine/device/launch.h"
#include "engine/device/stream.h"
#include "engine/kernels/elementwise_kernels.h"

namespace {

using lockstep::Stream;

void launch_nothing(const Stream& stream) {
  lockstep::launch(stream, "fill", {}, {1, 1}, lockstep::kernels::fill, 0.0F, lockstep::View<float>{});
}

// A function of the host that waits keeps the stream where it is.
class Held {
 public:
  explicit Held(const Stream& stream) {
    LOCKSTEP_CHECK(cudaLaunchHostFunc(
        stream.get(), [](void* go) { static_cast<std::atomic<bool>*>(go)->wait(false); }, &go_));
  }
  void release() {
    go_ = true;
    go_.notify_all();
  }

 private:
  std::atomic<bool> go_{false};
};

void launch(benchmark::State& state) {
  const Stream stream(0);
  constexpr int kInARow = 256;
  for (int i = 0; i < kInARow; ++i) launch_nothing(stream);  // places in the queue are made once
  stream.synchronize();
  for ([[maybe_unused]] auto _ : state) {
    state.PauseTiming();
    Held held(stream);
    state.ResumeTiming();
    for (int i = 0; i < kInARow; ++i) launch_nothing(stream);
    state.PauseTiming();
    held.release();
    stream.synchronize();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * kInARow);
}
BENCHMARK(launch)->UseRealTime();

void launch_and_wait(benchmark::State& state) {
  const Stream stream(0);
  for ([[maybe_unused]] auto _ : state) {
    launch_nothing(stream);
    stream.synchronize();
  }
}
BENCHMARK(launch_and_wait)->UseRealTime();

void chain(benchmark::State& state) {
  constexpr std::int64_t kLength = 200, kElements = 1024;
  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<float*> memory;
  for (std::int64_t s = 0; s < state.range(0); ++s) {
    streams.push_back(std::make_unique<Stream>(0));
    LOCKSTEP_CHECK(cudaMalloc(&memory.emplace_back(), kElements * sizeof(float)));
  }
  for ([[maybe_unused]] auto _ : state) {
    for (std::int64_t i = 0; i < kLength; ++i) {
      for (std::size_t s = 0; s < streams.size(); ++s) {
        const lockstep::View<float> view{memory[s], kElements};
        lockstep::launch(*streams[s], "fill", {}, {1, 128}, lockstep::kernels::fill, 1.0F, view);
      }
    }
    for (const auto& stream : streams) stream->synchronize();
  }
  state.SetItemsProcessed(state.iterations() * kLength * state.range(0));
  for (float* one : memory) LOCKSTEP_CHECK(cudaFree(one));
}
BENCHMARK(chain)->ArgName("streams")->Arg(1)->Arg(2)->Arg(4)->UseRealTime();

void graph(benchmark::State& state) {
  const Stream stream(0);
  LOCKSTEP_CHECK(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal));
  for (std::int64_t i = 0; i < state.range(0); ++i) launch_nothing(stream);
  cudaGraph_t captured = nullptr;
  cudaGraphExec_t executable = nullptr;
  LOCKSTEP_CHECK(cudaStreamEndCapture(stream.get(), &captured));
  LOCKSTEP_CHECK(cudaGraphInstantiate(&executable, captured, 0));
  for ([[maybe_unused]] auto _ : state) {
    state.PauseTiming();
    Held held(stream);
    state.ResumeTiming();
    LOCKSTEP_CHECK(cudaGraphLaunch(executable, stream.get()));
    state.PauseTiming();
    held.release();
    stream.synchronize();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  LOCKSTEP_CHECK(cudaGraphExecDestroy(executable));
  LOCKSTEP_CHECK(cudaGraphDestroy(captured));
}
BENCHMARK(graph)->ArgName("nodes")->Arg(1)->Arg(40)->Arg(600)->UseRealTime();

}  // namespace
