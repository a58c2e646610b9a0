// Streams: FIFO queues that run later than their calls, and what ties them to each other.
#include <atomic>
#include <chrono>
#include <thread>

#include "tests/simulator/gpu/runtime/support/gpu_test.h"

namespace lockstep::test {
namespace {

class StreamTest : public GpuTest {};

TEST_F(StreamTest, StreamRunsInOrder) {
  const TestStream stream;
  RunLog ran;
  std::string expected;
  for (int i = 0; i < 200; ++i) {
    ran.note(stream, std::to_string(i) + " ");
    expected += std::to_string(i) + " ";
  }
  ASSERT_CUDA(cudaStreamSynchronize(stream));
  EXPECT_EQ(ran.text(), expected);
}

TEST_F(StreamTest, OperationRunsLaterThanItsCall) {
  const TestStream stream;
  RunLog ran;
  Hold hold(stream);
  ran.note(stream, "a");
  EXPECT_EQ(ran.text(), "");
  EXPECT_EQ(cudaStreamQuery(stream), cudaErrorNotReady);
  hold.release();
  ASSERT_CUDA(cudaStreamSynchronize(stream));
  EXPECT_EQ(ran.text(), "a");
  EXPECT_CUDA(cudaStreamQuery(stream));
}

TEST_F(StreamTest, StreamsDoNotWaitForEachOther) {
  const TestStream held, free;
  RunLog ran;
  Hold hold(held);
  ran.note(held, "held");
  ran.note(free, "free");
  ASSERT_CUDA(cudaStreamSynchronize(free));
  EXPECT_EQ(ran.text(), "free");
}

TEST_F(StreamTest, AllPartsOfAnOperationRunOnceBeforeTheNextOne) {
  const TestStream stream;
  for (int round = 0; round < 50; ++round) {
    std::vector<std::atomic<int>> runs(13);
    std::atomic<int> before{-1};
    sim::Operation wide;
    wide.parts = 13;
    wide.run = [&](int part) { ++runs[static_cast<std::size_t>(part)]; };
    ASSERT_CUDA(sim::enqueue(stream, std::move(wide)));
    sim::Operation after;
    after.run = [&](int) {
      int sum = 0;
      for (auto& count : runs) sum += count;
      before = sum;
    };
    ASSERT_CUDA(sim::enqueue(stream, std::move(after)));
    ASSERT_CUDA(cudaStreamSynchronize(stream));
    EXPECT_EQ(before, 13);
    for (auto& count : runs) EXPECT_EQ(count, 1);
  }
}

TEST_F(StreamTest, PartsRunAtTheSameTimeOnSeveralWorkers) {
  // Each of the four parts waits for the other three: only four workers at once can finish this.
  const TestStream stream;
  std::atomic<int> there{0};
  sim::Operation meeting;
  meeting.parts = 4;
  meeting.run = [&](int) {
    ++there;
    while (there < 4) std::this_thread::yield();
  };
  ASSERT_CUDA(sim::enqueue(stream, std::move(meeting)));
  ASSERT_CUDA(cudaStreamSynchronize(stream));
  EXPECT_EQ(there, 4);
}

TEST_F(StreamTest, LegacyStreamWaitsForBlockingStreams) {
  const TestStream blocking(cudaStreamDefault);
  RunLog ran;
  Hold hold(blocking);
  ran.note(blocking, "a");
  ran.note(nullptr, "b");
  ran.note(blocking, "c");
  EXPECT_EQ(cudaStreamQuery(nullptr), cudaErrorNotReady);
  EXPECT_EQ(ran.text(), "");
  hold.release();
  ASSERT_CUDA(cudaDeviceSynchronize());
  EXPECT_EQ(ran.text(), "abc");
}

TEST_F(StreamTest, BlockingStreamsWaitForTheLegacyStream) {
  const TestStream one(cudaStreamDefault), other(cudaStreamDefault);
  RunLog ran;
  Hold hold(nullptr);
  ran.note(cudaStreamLegacy, "a");
  ran.note(one, "b");
  ran.note(other, "b");
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_EQ(ran.text(), "");
  hold.release();
  ASSERT_CUDA(cudaDeviceSynchronize());
  EXPECT_EQ(ran.text(), "abb");
}

TEST_F(StreamTest, NonBlockingStreamsHaveNoTiesToTheLegacyStream) {
  const TestStream stream(cudaStreamNonBlocking);
  RunLog ran;
  Hold hold(nullptr);
  ran.note(nullptr, "legacy");
  ran.note(stream, "free");
  ASSERT_CUDA(cudaStreamSynchronize(stream));
  EXPECT_EQ(ran.text(), "free");
}

TEST_F(StreamTest, LegacyStreamsOfTwoDevicesAreStrangers) {
  RunLog ran;
  Hold hold(nullptr);
  ran.note(nullptr, "zero");
  ASSERT_CUDA(cudaSetDevice(1));
  ran.note(nullptr, "one");
  ASSERT_CUDA(cudaDeviceSynchronize());
  EXPECT_EQ(ran.text(), "one");
  ASSERT_CUDA(cudaSetDevice(0));
}

TEST_F(StreamTest, QueuedWorkOutlivesItsStream) {
  cudaStream_t stream = nullptr;
  ASSERT_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  RunLog ran;
  Hold hold(stream);
  ran.note(stream, "a");
  ran.note(stream, "b");
  ASSERT_CUDA(cudaStreamDestroy(stream));
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(ran.text(), "");
  hold.release();
  ASSERT_CUDA(cudaDeviceSynchronize());  // knows the destroyed stream's work
  EXPECT_EQ(ran.text(), "ab");
}

TEST_F(StreamTest, HostFunctionTakesItsTurn) {
  const TestStream stream;
  RunLog ran;
  ran.note(stream, "a");
  ASSERT_CUDA(cudaLaunchHostFunc(
      stream, [](void* data) { static_cast<RunLog*>(data)->add("host"); }, &ran));
  ran.note(stream, "b");
  ASSERT_CUDA(cudaStreamSynchronize(stream));
  EXPECT_EQ(ran.text(), "ahostb");
}

TEST_F(StreamTest, WaitingHostFunctionDoesNotStopTheDevice) {
  const TestStream slow, quick;
  std::atomic<bool> go{false};
  ASSERT_CUDA(cudaLaunchHostFunc(
      slow,
      [](void* data) {
        while (!*static_cast<std::atomic<bool>*>(data)) std::this_thread::yield();
      },
      &go));
  RunLog ran;
  for (int i = 0; i < 20; ++i) ran.note(quick, "x");
  EXPECT_CUDA(cudaStreamSynchronize(quick));
  EXPECT_EQ(cudaStreamQuery(slow), cudaErrorNotReady);
  go = true;
  EXPECT_CUDA(cudaStreamSynchronize(slow));
}

TEST_F(StreamTest, HostFunctionMayNotCallCuda) {
  const TestStream stream;
  cudaError_t seen = cudaSuccess;
  ASSERT_CUDA(cudaLaunchHostFunc(
      stream, [](void* data) { *static_cast<cudaError_t*>(data) = cudaDeviceSynchronize(); }, &seen));
  ASSERT_CUDA(cudaStreamSynchronize(stream));
  EXPECT_EQ(seen, cudaErrorNotPermitted);
}

TEST_F(StreamTest, FlagsAreKept) {
  const TestStream blocking(cudaStreamDefault), free(cudaStreamNonBlocking);
  unsigned flags = 7;
  EXPECT_CUDA(cudaStreamGetFlags(blocking, &flags));
  EXPECT_EQ(flags, 0U);
  EXPECT_CUDA(cudaStreamGetFlags(free, &flags));
  EXPECT_EQ(flags, 1U);
}

TEST_F(StreamTest, ManyThreadsOnManyStreamsLoseNothing) {
  constexpr int kThreads = 6, kStreams = 4, kOperations = 500;
  std::atomic<int> total{0};
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      cudaSetDevice(t % 2);
      std::vector<std::unique_ptr<TestStream>> streams;
      for (int s = 0; s < kStreams; ++s) streams.push_back(std::make_unique<TestStream>());
      std::vector<int> last(kStreams, -1);
      std::atomic<bool> ordered{true};
      for (int i = 0; i < kOperations; ++i) {
        const auto s = static_cast<std::size_t>(i % kStreams);
        sim::Operation operation;
        operation.parts = 1 + i % 3;
        operation.run = [&, i, s](int part) {
          if (part != 0) return;
          if (last[s] >= i) ordered = false;
          last[s] = i;
          ++total;
        };
        EXPECT_CUDA(sim::enqueue(*streams[s], std::move(operation)));
        if (i % 100 == 99) {
          EXPECT_CUDA(cudaStreamSynchronize(*streams[s]));
        }
      }
      for (auto& stream : streams) EXPECT_CUDA(cudaStreamSynchronize(*stream));
      EXPECT_TRUE(ordered);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(total, kThreads * kOperations);
}

}  // namespace
}  // namespace lockstep::test
