// Graphs: what a stream captures runs later, as often as it is launched, in the order that the capture saw.
#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

#include "tests/simulator/gpu/runtime/support/graph_test.h"

namespace lockstep::test {
namespace {

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

}  // namespace
}  // namespace lockstep::test
