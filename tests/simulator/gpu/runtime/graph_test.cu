// Graphs: what a stream captures runs later, as often as it is launched, in the order that the capture saw.
#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

#include <backend/kernel_support.h>
#include "tests/simulator/gpu/runtime/support/gpu_test.h"

namespace lockstep::test {

__global__ void add_to(float what, View<float> y) {
  each_in_grid(y.count, [=](std::int64_t i) { y[i] += what; });
}

__global__ void multiply_by(float what, View<float> y) {
  each_in_grid(y.count, [=](std::int64_t i) { y[i] *= what; });
}

namespace {

class GraphTest : public GpuTest {};

cudaError_t launch_add(cudaStream_t stream, float what, View<float> y) {
  const auto config = configuration(2, 32, stream);
  return cudaLaunchKernelEx(&config, add_to, what, y);
}

cudaError_t launch_multiply(cudaStream_t stream, float what, View<float> y) {
  const auto config = configuration(2, 32, stream);
  return cudaLaunchKernelEx(&config, multiply_by, what, y);
}

cudaStreamCaptureStatus status_of(cudaStream_t stream) {
  auto status = cudaStreamCaptureStatusNone;
  EXPECT_CUDA(cudaStreamIsCapturing(stream, &status));
  return status;
}

// A graph that can be launched, and cleans up after itself.
class Executable {
 public:
  explicit Executable(cudaStream_t captured) {
    EXPECT_CUDA(cudaStreamEndCapture(captured, &graph_));
    EXPECT_CUDA(cudaGraphInstantiate(&executable_, graph_, 0));
  }
  ~Executable() {
    EXPECT_CUDA(cudaGraphExecDestroy(executable_));
    EXPECT_CUDA(cudaGraphDestroy(graph_));
  }
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;
  std::size_t nodes() const {
    std::size_t count = 0;
    EXPECT_CUDA(cudaGraphGetNodes(graph_, nullptr, &count));
    return count;
  }
  operator cudaGraphExec_t() const { return executable_; }

 private:
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};

void begin(cudaStream_t stream, cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal) {
  ASSERT_CUDA(cudaStreamBeginCapture(stream, mode));
}

// Ends a capture from which no graph comes, and leaves the stream as it was.
void expect_end(cudaStream_t stream, cudaError_t status) {
  auto* graph = reinterpret_cast<cudaGraph_t>(1);
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), status);
  EXPECT_EQ(graph, nullptr);
  EXPECT_EQ(status_of(stream), cudaStreamCaptureStatusNone);
  EXPECT_CUDA(cudaStreamSynchronize(stream));
  cudaGetLastError();
}

TEST_F(GraphTest, CapturedWorkRunsAtTheLaunchAndNotBefore) {
  const TestStream stream;
  const DeviceArray<float> y(std::vector<float>(100, 1.0F));
  begin(stream);
  EXPECT_EQ(status_of(stream), cudaStreamCaptureStatusActive);
  ASSERT_CUDA(launch_add(stream, 2, y.view()));
  ASSERT_CUDA(launch_multiply(stream, 10, y.view()));
  const Executable graph(stream);
  EXPECT_EQ(status_of(stream), cudaStreamCaptureStatusNone);
  EXPECT_EQ(graph.nodes(), 2U);
  EXPECT_EQ(y.get(), std::vector<float>(100, 1.0F));
  ASSERT_CUDA(cudaGraphLaunch(graph, stream));
  EXPECT_EQ(y.get(), std::vector<float>(100, 30.0F));
  ASSERT_CUDA(cudaGraphLaunch(graph, stream));
  ASSERT_CUDA(cudaGraphLaunch(graph, stream));
  EXPECT_EQ(y.get(), std::vector<float>(100, 3220.0F));
}

TEST_F(GraphTest, EveryKindOfWorkIsReplayed) {
  const TestStream stream;
  const DeviceArray<float> x(64), y(64);
  float* pinned = nullptr;
  ASSERT_CUDA(cudaMallocHost(&pinned, 64 * sizeof(float)));
  std::fill_n(pinned, 64, 5.0F);
  std::atomic<int> calls{0};
  begin(stream);
  ASSERT_CUDA(cudaMemsetAsync(y.data(), 0, y.bytes(), stream));
  ASSERT_CUDA(cudaMemcpyAsync(x.data(), pinned, x.bytes(), cudaMemcpyHostToDevice, stream));
  ASSERT_CUDA(launch_add(stream, 1, x.view()));
  ASSERT_CUDA(cudaMemcpyAsync(y.data(), x.data(), 32 * sizeof(float), cudaMemcpyDeviceToDevice, stream));
  ASSERT_CUDA(cudaMemcpyAsync(pinned, y.data(), y.bytes(), cudaMemcpyDeviceToHost, stream));
  ASSERT_CUDA(cudaLaunchHostFunc(
      stream, [](void* data) { ++*static_cast<std::atomic<int>*>(data); }, &calls));
  const Executable graph(stream);
  EXPECT_EQ(graph.nodes(), 6U);
  EXPECT_EQ(pinned[0], 5.0F);
  for (int launch = 1; launch <= 3; ++launch) {
    ASSERT_CUDA(cudaGraphLaunch(graph, stream));
    ASSERT_CUDA(cudaStreamSynchronize(stream));
    EXPECT_EQ(calls, launch);
    EXPECT_EQ(pinned[0], 5.0F + static_cast<float>(launch));  // what it left there is what it reads the next time
    EXPECT_EQ(pinned[40], 0.0F);
  }
  ASSERT_CUDA(cudaFreeHost(pinned));
}

TEST_F(GraphTest, ManyArgumentsAreKeptToo) {
  const TestStream stream;
  RunLog ran;
  begin(stream);
  for (int i = 0; i < 300; ++i) ran.note(stream, std::to_string(i) + " ");
  const Executable graph(stream);
  std::string once;
  for (int i = 0; i < 300; ++i) once += std::to_string(i) + " ";
  ASSERT_CUDA(cudaGraphLaunch(graph, stream));
  ASSERT_CUDA(cudaGraphLaunch(graph, stream));
  ASSERT_CUDA(cudaStreamSynchronize(stream));
  EXPECT_EQ(ran.text(), once + once);
}

TEST_F(GraphTest, CaptureSpreadsByEventsAndIsJoinedByThem) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    sim::set_schedule_seed(seed);
    const TestStream stream, side, other;
    const TestEvent fork, join;
    RunLog ran;
    begin(stream);
    ran.note(stream, "a");
    ASSERT_CUDA(cudaEventRecord(fork, stream));
    ASSERT_CUDA(cudaStreamWaitEvent(side, fork, 0));
    EXPECT_EQ(status_of(side), cudaStreamCaptureStatusActive);
    ran.note(side, "b");
    ran.note(stream, "c");
    ASSERT_CUDA(cudaEventRecord(join, side));
    ASSERT_CUDA(cudaStreamWaitEvent(stream, join, 0));
    ran.note(stream, "d");
    const Executable graph(stream);
    EXPECT_EQ(status_of(side), cudaStreamCaptureStatusNone);
    EXPECT_EQ(ran.text(), "");
    ASSERT_CUDA(cudaGraphLaunch(graph, other));
    ran.note(other, "e");
    ASSERT_CUDA(cudaStreamSynchronize(other));
    const std::string order = ran.text();
    EXPECT_TRUE(order == "abcde" || order == "acbde") << order << " with seed " << seed;
  }
}

TEST_F(GraphTest, LanesOfAGraphRunAtTheSameTime) {
  const TestStream stream, side;
  const TestEvent fork, join;
  std::atomic<int> there{0};
  const auto meet = [&](cudaStream_t on) {
    sim::Operation meeting;
    meeting.kind = sim::OperationKind::marker;
    meeting.run = [&](int) {
      ++there;
      while (there < 2) std::this_thread::yield();
    };
    EXPECT_CUDA(sim::enqueue(on, std::move(meeting)));
  };
  begin(stream);
  ASSERT_CUDA(cudaEventRecord(fork, stream));
  ASSERT_CUDA(cudaStreamWaitEvent(side, fork, 0));
  meet(stream);
  meet(side);
  ASSERT_CUDA(cudaEventRecord(join, side));
  ASSERT_CUDA(cudaStreamWaitEvent(stream, join, 0));
  const Executable graph(stream);
  ASSERT_CUDA(cudaGraphLaunch(graph, stream));
  ASSERT_CUDA(cudaStreamSynchronize(stream));
  EXPECT_EQ(there, 2);
}

// Random programs of kernels, events and waits on three streams give the same numbers run directly and as a graph.
TEST_F(GraphTest, AGraphGivesWhatTheStreamsWouldHaveGiven) {
  for (unsigned program = 0; program < 60; ++program) {
    const auto run = [&](bool captured) {
      std::mt19937 random(program);
      const TestStream a, b, c;
      const cudaStream_t streams[] = {a, b, c};
      std::vector<std::unique_ptr<TestEvent>> events;
      const auto order = [&](cudaStream_t first, cudaStream_t second) {
        events.push_back(std::make_unique<TestEvent>());
        EXPECT_CUDA(cudaEventRecord(*events.back(), first));
        EXPECT_CUDA(cudaStreamWaitEvent(second, *events.back(), 0));
      };
      const DeviceArray<float> data(std::vector<float>(3, 1.0F));
      if (captured) begin(a);
      order(a, b);
      order(a, c);
      for (int i = 0; i < 30; ++i) {
        const unsigned s = random() % 3, t = random() % 3, cell = random() % 3;
        // The stream first waits for all others, so that the result does not depend on the schedule.
        for (unsigned u = 0; u < 3; ++u) {
          if (u != s) order(streams[u], streams[s]);
        }
        EXPECT_CUDA(random() % 2 == 0 ? launch_add(streams[s], 1, data.view().part(cell, 1))
                                      : launch_multiply(streams[s], 1.25F, data.view().part(cell, 1)));
        if (s != t) order(streams[s], streams[t]);
      }
      order(b, a);
      order(c, a);
      if (captured) {
        const Executable graph(a);
        EXPECT_CUDA(cudaGraphLaunch(graph, a));
        EXPECT_CUDA(cudaStreamSynchronize(a));
      }
      return data.get();
    };
    sim::set_schedule_seed(program % 3 == 0 ? 0 : program);
    EXPECT_EQ(run(false), run(true)) << "program " << program;
  }
}

TEST_F(GraphTest, GraphsSpanDevices) {
  const TestStream here;
  ASSERT_CUDA(cudaSetDevice(1));
  const TestStream there;
  const DeviceArray<float> other(std::vector<float>(8, 1.0F));
  const TestEvent join;
  ASSERT_CUDA(cudaSetDevice(0));
  const DeviceArray<float> own(std::vector<float>(8, 1.0F));
  const TestEvent fork;
  begin(here);
  ASSERT_CUDA(launch_add(here, 1, own.view()));
  ASSERT_CUDA(cudaEventRecord(fork, here));
  ASSERT_CUDA(cudaStreamWaitEvent(there, fork, 0));
  ASSERT_CUDA(cudaSetDevice(1));
  ASSERT_CUDA(launch_add(there, 10, other.view()));
  ASSERT_CUDA(cudaEventRecord(join, there));
  ASSERT_CUDA(cudaStreamWaitEvent(here, join, 0));
  ASSERT_CUDA(cudaSetDevice(0));
  const Executable graph(here);
  ASSERT_CUDA(cudaGraphLaunch(graph, here));
  ASSERT_CUDA(cudaStreamSynchronize(here));
  ASSERT_CUDA(cudaGraphLaunch(graph, there));  // its first lane still runs on the device where it was captured
  ASSERT_CUDA(cudaStreamSynchronize(there));
  EXPECT_EQ(own.get(), std::vector<float>(8, 3.0F));
  EXPECT_EQ(other.get(), std::vector<float>(8, 21.0F));
}

TEST_F(GraphTest, LaunchesOfOneGraphRunOneAfterAnother) {
  const TestStream captured, one, other;
  RunLog ran;
  begin(captured);
  ran.note(captured, "(");
  ran.note(captured, ")");
  const Executable graph(captured);
  Hold hold(one);
  ASSERT_CUDA(cudaGraphLaunch(graph, one));
  ASSERT_CUDA(cudaGraphLaunch(graph, other));  // behind the launch that is held
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_EQ(cudaStreamQuery(other), cudaErrorNotReady);
  EXPECT_EQ(ran.text(), "");
  hold.release();
  ASSERT_CUDA(cudaStreamSynchronize(other));
  EXPECT_EQ(ran.text(), "()()");
}

TEST_F(GraphTest, RunningGraphOutlivesItsHandles) {
  const auto before = sim::counters();
  const DeviceArray<float> y(std::vector<float>(4, 1.0F));
  {
    const TestStream stream;
    begin(stream);
    ASSERT_CUDA(launch_add(stream, 1, y.view()));
    ASSERT_CUDA(cudaMemsetAsync(y.data(), 0, 4, stream));
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    ASSERT_CUDA(cudaStreamEndCapture(stream, &graph));
    ASSERT_CUDA(cudaGraphInstantiate(&executable, graph, 0));
    ASSERT_CUDA(cudaGraphDestroy(graph));
    Hold hold(stream);
    ASSERT_CUDA(cudaGraphLaunch(executable, stream));
    ASSERT_CUDA(cudaGraphExecDestroy(executable));
    EXPECT_EQ(cudaGraphLaunch(executable, stream), cudaErrorInvalidValue);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaErrorInvalidValue);
    EXPECT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaErrorInvalidValue);
    hold.release();
    ASSERT_CUDA(cudaStreamSynchronize(stream));
  }
  EXPECT_EQ(y.get(), (std::vector<float>{0, 2, 2, 2}));
  EXPECT_EQ(sim::counters().live_streams, before.live_streams);
}

TEST_F(GraphTest, ReplayChecksMemoryWhenItRuns) {
  const TestStream stream;
  float* memory = nullptr;
  ASSERT_CUDA(cudaMalloc(&memory, 16));
  begin(stream);
  ASSERT_CUDA(launch_add(stream, 1, {memory, 4}));
  const Executable graph(stream);
  ASSERT_CUDA(cudaFree(memory));
  ASSERT_CUDA(cudaGraphLaunch(graph, stream));
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaGraphLaunch(graph, stream), cudaErrorIllegalAddress);
  sim::clear_device_errors();
}

TEST_F(GraphTest, EmptyGraphsLaunch) {
  const TestStream stream;
  begin(stream);
  const Executable graph(stream);
  EXPECT_EQ(graph.nodes(), 0U);
  EXPECT_CUDA(cudaGraphLaunch(graph, stream));
  EXPECT_CUDA(cudaStreamSynchronize(stream));
}

TEST_F(GraphTest, NodesAreListed) {
  const TestStream stream;
  RunLog ran;
  begin(stream);
  for (int i = 0; i < 3; ++i) ran.note(stream, "x");
  cudaGraph_t graph = nullptr;
  ASSERT_CUDA(cudaStreamEndCapture(stream, &graph));
  std::vector<cudaGraphNode_t> nodes(5, nullptr);
  std::size_t count = nodes.size();
  EXPECT_CUDA(cudaGraphGetNodes(graph, nodes.data(), &count));
  EXPECT_EQ(count, 3U);
  EXPECT_NE(nodes[0], nodes[1]);
  EXPECT_NE(nodes[2], nullptr);
  EXPECT_EQ(nodes[3], nullptr);
  EXPECT_EQ(cudaGraphGetNodes(graph, nullptr, nullptr), cudaErrorInvalidValue);
  EXPECT_CUDA(cudaGraphDestroy(graph));
}

// --- Refusals. Each leaves a capture from which nothing can come, and a stream that works again once it has ended.

TEST_F(GraphTest, CapturingStreamCannotBeWaitedFor) {
  const TestStream stream;
  for (const auto call : {&cudaStreamSynchronize, &cudaStreamQuery}) {
    begin(stream);
    EXPECT_EQ(call(stream), cudaErrorStreamCaptureUnsupported);
    EXPECT_EQ(status_of(stream), cudaStreamCaptureStatusInvalidated);
    RunLog ran;
    sim::Operation operation;
    EXPECT_EQ(sim::enqueue(stream, operation), cudaErrorStreamCaptureInvalidated);
    expect_end(stream, cudaErrorStreamCaptureInvalidated);
  }
  begin(stream);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorStreamCaptureUnsupported);
  expect_end(stream, cudaErrorStreamCaptureInvalidated);
}

TEST_F(GraphTest, CapturedEventsCannotBeAskedOrWaitedForOutside) {
  const TestStream stream, outside;
  const TestEvent event, other;
  ASSERT_CUDA(cudaEventRecord(other, outside));
  for (int i = 0; i < 3; ++i) {
    begin(stream, cudaStreamCaptureModeRelaxed);
    ASSERT_CUDA(cudaEventRecord(event, stream));
    float ms = 0;
    if (i == 0) {
      EXPECT_EQ(cudaEventQuery(event), cudaErrorCapturedEvent);
    } else if (i == 1) {
      EXPECT_EQ(cudaEventSynchronize(event), cudaErrorCapturedEvent);
    } else {
      EXPECT_EQ(cudaEventElapsedTime(&ms, other, event), cudaErrorCapturedEvent);
    }
    expect_end(stream, cudaErrorStreamCaptureInvalidated);
  }
  EXPECT_EQ(cudaStreamWaitEvent(outside, event, 0), cudaErrorCapturedEvent);  // of a capture that is over
  ASSERT_CUDA(cudaEventRecord(event, outside));                               // recorded again it is as any other
  EXPECT_CUDA(cudaEventSynchronize(event));
}

TEST_F(GraphTest, WaitingForAnEventFromOutsideIsRefused) {
  const TestStream stream, outside;
  const TestEvent event;
  ASSERT_CUDA(cudaEventRecord(event, outside));
  begin(stream);
  EXPECT_EQ(cudaStreamWaitEvent(stream, event, 0), cudaErrorStreamCaptureIsolation);
  expect_end(stream, cudaErrorStreamCaptureInvalidated);
}

TEST_F(GraphTest, CapturesAreNotMerged) {
  const TestStream one, other;
  const TestEvent event;
  begin(one);
  begin(other);
  ASSERT_CUDA(cudaEventRecord(event, one));
  EXPECT_EQ(cudaStreamWaitEvent(other, event, 0), cudaErrorStreamCaptureMerge);
  expect_end(one, cudaErrorStreamCaptureInvalidated);
  expect_end(other, cudaErrorStreamCaptureInvalidated);
}

TEST_F(GraphTest, ForkedWorkMustBeJoined) {
  const TestStream stream, side;
  const TestEvent fork;
  RunLog ran;
  begin(stream);
  ASSERT_CUDA(cudaEventRecord(fork, stream));
  ASSERT_CUDA(cudaStreamWaitEvent(side, fork, 0));
  ran.note(side, "never");
  expect_end(stream, cudaErrorStreamCaptureUnjoined);
  EXPECT_EQ(status_of(side), cudaStreamCaptureStatusNone);
  EXPECT_CUDA(cudaStreamSynchronize(side));
  EXPECT_EQ(ran.text(), "");
}

TEST_F(GraphTest, CaptureEndsWhereAndByWhomItBegan) {
  const TestStream stream, side;
  const TestEvent fork;
  cudaGraph_t graph = nullptr;
  begin(stream);
  ASSERT_CUDA(cudaEventRecord(fork, stream));
  ASSERT_CUDA(cudaStreamWaitEvent(side, fork, 0));
  EXPECT_EQ(cudaStreamEndCapture(side, &graph), cudaErrorStreamCaptureUnmatched);
  expect_end(stream, cudaErrorStreamCaptureInvalidated);

  begin(stream);
  std::thread([&] { EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureWrongThread); }).join();
  expect_end(stream, cudaErrorStreamCaptureInvalidated);

  begin(stream, cudaStreamCaptureModeRelaxed);
  std::thread([&] { EXPECT_CUDA(cudaStreamEndCapture(stream, &graph)); }).join();
  EXPECT_CUDA(cudaGraphDestroy(graph));
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorIllegalState);
  cudaGetLastError();
}

TEST_F(GraphTest, LegacyStreamIsOutOfBoundsWhileABlockingStreamCaptures) {
  EXPECT_EQ(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal), cudaErrorStreamCaptureUnsupported);
  const TestStream blocking(cudaStreamDefault), free(cudaStreamNonBlocking);
  const DeviceArray<float> y(4);
  begin(blocking, cudaStreamCaptureModeRelaxed);
  auto status = cudaStreamCaptureStatusNone;
  EXPECT_EQ(cudaStreamIsCapturing(nullptr, &status), cudaErrorStreamCaptureImplicit);
  EXPECT_EQ(status_of(blocking), cudaStreamCaptureStatusActive);  // to ask is no harm
  EXPECT_EQ(launch_add(nullptr, 1, y.view()), cudaErrorStreamCaptureImplicit);
  expect_end(blocking, cudaErrorStreamCaptureInvalidated);

  begin(free, cudaStreamCaptureModeRelaxed);
  EXPECT_CUDA(launch_add(nullptr, 1, y.view()));  // not tied to it
  const Executable graph(free);
  EXPECT_EQ(graph.nodes(), 0U);
}

TEST_F(GraphTest, UnsafeCallsAreRefusedAsTheModeSays) {
  const TestStream stream;
  void* memory = nullptr;
  const auto in_another_thread = [&](cudaStreamCaptureMode thread_mode) {
    cudaError_t status = cudaSuccess;
    std::thread([&] {
      auto mode = thread_mode;
      EXPECT_CUDA(cudaThreadExchangeStreamCaptureMode(&mode));
      EXPECT_EQ(mode, cudaStreamCaptureModeGlobal);  // what a thread begins with
      status = cudaMalloc(&memory, 4);
      if (status == cudaSuccess) {
        EXPECT_CUDA(cudaFree(memory));
      }
    }).join();
    return status;
  };
  using enum cudaStreamCaptureMode;
  const struct {
    cudaStreamCaptureMode capture;
    cudaError_t here, there, relaxed_there;
  } cases[] = {{cudaStreamCaptureModeGlobal, cudaErrorStreamCaptureUnsupported, cudaErrorStreamCaptureUnsupported, cudaSuccess},
               {cudaStreamCaptureModeThreadLocal, cudaErrorStreamCaptureUnsupported, cudaSuccess, cudaSuccess},
               {cudaStreamCaptureModeRelaxed, cudaSuccess, cudaSuccess, cudaSuccess}};
  for (const auto& each : cases) {
    begin(stream, each.capture);
    EXPECT_EQ(in_another_thread(cudaStreamCaptureModeRelaxed), each.relaxed_there);
    EXPECT_EQ(in_another_thread(cudaStreamCaptureModeGlobal), each.there);
    EXPECT_EQ(cudaMalloc(&memory, 4), each.here);
    if (each.here == cudaSuccess) {
      EXPECT_CUDA(cudaFree(memory));
      const Executable graph(stream);
    } else {
      expect_end(stream, cudaErrorStreamCaptureInvalidated);
    }
  }
}

TEST_F(GraphTest, WorkThatCannotBeReplayedIsRefused) {
  const TestStream stream;
  const DeviceArray<float> y(4);
  std::vector<float> pageable(4);
  void* memory = nullptr;
  const std::function<cudaError_t()> calls[] = {
      [&] { return cudaMemcpyAsync(y.data(), pageable.data(), 16, cudaMemcpyHostToDevice, stream); },
      [&] { return cudaMemcpyAsync(pageable.data(), y.data(), 16, cudaMemcpyDeviceToHost, stream); },
      [&] { return cudaMallocAsync(&memory, 16, stream); },
      [&] { return cudaFreeAsync(y.data(), stream); },
      [&] { return sim::enqueue_gate(stream, sim::make_gate(2, "collective")); },
  };
  for (const auto& call : calls) {
    begin(stream);
    EXPECT_EQ(call(), cudaErrorStreamCaptureUnsupported);
    expect_end(stream, cudaErrorStreamCaptureInvalidated);
  }
  begin(stream);
  const Executable graph(stream);
  begin(stream);
  EXPECT_EQ(cudaGraphLaunch(graph, stream), cudaErrorStreamCaptureUnsupported);
  expect_end(stream, cudaErrorStreamCaptureInvalidated);
}

TEST_F(GraphTest, CapturesDoNotNest) {
  const TestStream stream;
  begin(stream);
  EXPECT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaErrorIllegalState);
  const Executable graph(stream);
  EXPECT_EQ(cudaStreamBeginCapture(stream, static_cast<cudaStreamCaptureMode>(3)), cudaErrorInvalidValue);
  cudaGetLastError();
}

TEST_F(GraphTest, DestroyedStreamTakesItsCaptureWithIt) {
  {
    const TestStream stream;
    begin(stream);
  }
  void* memory = nullptr;
  EXPECT_CUDA(cudaMalloc(&memory, 4));  // no stream captures any more
  EXPECT_CUDA(cudaFree(memory));
}

TEST_F(GraphTest, NeighboursOfACaptureGoOnWorking) {
  const TestStream stream, neighbour;
  const DeviceArray<float> y(std::vector<float>(4, 0.0F));
  begin(stream, cudaStreamCaptureModeThreadLocal);
  ASSERT_CUDA(launch_add(neighbour, 1, y.view()));
  EXPECT_CUDA(cudaStreamSynchronize(neighbour));
  const Executable graph(stream);
  EXPECT_EQ(y.get(), std::vector<float>(4, 1.0F));
}

}  // namespace
}  // namespace lockstep::test
