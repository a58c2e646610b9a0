// What stream capture refuses. Each refusal leaves a capture that gives no graph, and a stream that works again once the capture has ended.
#include <functional>
#include <thread>

#include "tests/simulator/gpu/runtime/support/graph_test.h"

namespace lockstep::test {
namespace {

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
