// The default stream of each thread, copies between devices in turn, and memory in stream order.
#include <atomic>
#include <chrono>
#include <thread>

#include "tests/simulator/gpu/runtime/support/gpu_test.h"

namespace lockstep::test {
namespace {

class PerThreadTest : public GpuTest {};

TEST_F(PerThreadTest, EveryThreadHasAStreamOfItsOwn) {
  RunLog ran;
  Hold hold(cudaStreamPerThread);
  ran.note(cudaStreamPerThread, "main");
  std::thread([&] {
    ran.note(cudaStreamPerThread, "thread ");
    EXPECT_CUDA(cudaStreamSynchronize(cudaStreamPerThread));
  }).join();
  EXPECT_EQ(ran.text(), "thread ");
  hold.release();
  ASSERT_CUDA(cudaStreamSynchronize(cudaStreamPerThread));
  EXPECT_EQ(ran.text(), "thread main");
}

TEST_F(PerThreadTest, EveryDeviceToo) {
  RunLog ran;
  Hold hold(cudaStreamPerThread);
  ran.note(cudaStreamPerThread, "zero");
  ASSERT_CUDA(cudaSetDevice(1));
  EXPECT_EQ(sim::device_of(cudaStreamPerThread), 1);
  ran.note(cudaStreamPerThread, "one ");
  ASSERT_CUDA(cudaStreamSynchronize(cudaStreamPerThread));
  EXPECT_EQ(ran.text(), "one ");
  ASSERT_CUDA(cudaSetDevice(0));
}

TEST_F(PerThreadTest, ItIsTiedToTheLegacyStream) {
  RunLog ran;
  Hold hold(cudaStreamPerThread);
  ran.note(cudaStreamPerThread, "a");
  ran.note(cudaStreamLegacy, "b");
  EXPECT_EQ(cudaStreamQuery(cudaStreamLegacy), cudaErrorNotReady);
  hold.release();
  ASSERT_CUDA(cudaStreamSynchronize(cudaStreamLegacy));
  EXPECT_EQ(ran.text(), "ab");
}

TEST_F(PerThreadTest, ItIsNobodysToDestroyAndLeavesNothing) {
  const auto before = sim::counters();
  EXPECT_EQ(cudaStreamDestroy(cudaStreamPerThread), cudaErrorInvalidResourceHandle);
  std::atomic<int> ran{0};
  for (int i = 0; i < 50; ++i) {
    std::thread([&] {
      sim::Operation operation;
      operation.run = [&](int) { ++ran; };
      EXPECT_CUDA(sim::enqueue(cudaStreamPerThread, std::move(operation)));
    }).join();  // its work goes on when it has gone
  }
  ASSERT_CUDA(cudaDeviceSynchronize());
  EXPECT_EQ(ran, 50);
  EXPECT_EQ(sim::counters().live_streams, before.live_streams);
}

class PeerCopyTest : public GpuTest {};

TEST_F(PeerCopyTest, CopyInTurnIsBehindAllWorkOfBothDevicesAndBeforeWhatComes) {
  const TestStream here;
  const DeviceArray<int> source(std::vector<int>(10, 1));
  ASSERT_CUDA(cudaSetDevice(1));
  const TestStream there;
  const DeviceArray<int> target(std::vector<int>(10, 0));
  ASSERT_CUDA(cudaSetDevice(0));
  Hold hold_here(here), hold_there(there);
  ASSERT_CUDA(cudaMemsetAsync(source.data(), 7, source.bytes(), here));  // pending: the copy must see it
  ASSERT_CUDA(cudaMemcpyPeer(target.data(), 1, source.data(), 0, source.bytes()));
  ASSERT_CUDA(cudaMemsetAsync(source.data(), 9, source.bytes(), here));  // later: the copy must not see it
  ASSERT_CUDA(cudaSetDevice(1));
  const TestStream late;
  ASSERT_CUDA(cudaMemsetAsync(target.data(), 5, 4, late));  // behind the copy, on a stream that it never met
  EXPECT_EQ(cudaStreamQuery(late), cudaErrorNotReady);
  hold_here.release();
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_EQ(cudaStreamQuery(late), cudaErrorNotReady);  // the other device is still at work
  hold_there.release();
  std::vector<int> expected(10, 0x07070707);
  expected[0] = 0x05050505;
  EXPECT_EQ(target.get(), expected);
  ASSERT_CUDA(cudaSetDevice(0));
}

TEST_F(PeerCopyTest, AsynchronousCopyTakesItsTurnInItsStream) {
  const TestStream stream;
  const DeviceArray<int> source(std::vector<int>(1000, 1));
  ASSERT_CUDA(cudaSetDevice(1));
  const DeviceArray<int> target(std::vector<int>(1000, 0));
  ASSERT_CUDA(cudaSetDevice(0));
  Hold hold(stream);
  ASSERT_CUDA(cudaMemsetAsync(source.data(), 7, source.bytes(), stream));
  ASSERT_CUDA(cudaMemcpyPeerAsync(target.data(), 1, source.data(), 0, 999 * sizeof(int), stream));  // needs no peer access
  ASSERT_CUDA(cudaMemsetAsync(source.data(), 9, source.bytes(), stream));
  EXPECT_EQ(cudaStreamQuery(stream), cudaErrorNotReady);
  hold.release();
  ASSERT_CUDA(cudaStreamSynchronize(stream));
  std::vector<int> expected(1000, 0x07070707);
  expected.back() = 0;
  EXPECT_EQ(target.get(), expected);
}

TEST_F(PeerCopyTest, WrongOwnersAreRefused) {
  const DeviceArray<int> source(4), target(4);
  EXPECT_EQ(cudaMemcpyPeer(target.data(), 1, source.data(), 0, 16), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyPeer(target.data(), 0, source.data(), 9, 16), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaMemcpyPeer(target.data(), 0, source.data(), 0, 17), cudaErrorInvalidValue);
  EXPECT_CUDA(cudaMemcpyPeer(target.data(), 0, source.data(), 0, 16));
}

class OrderedMemoryTest : public GpuTest {};

TEST_F(OrderedMemoryTest, FreedInStreamOrder) {
  const TestStream stream;
  float* memory = nullptr;
  ASSERT_CUDA(cudaMallocAsync(&memory, 1024, stream));
  RunLog ran;
  Hold hold(stream);
  ASSERT_CUDA(cudaMemsetAsync(memory, 1, 1024, stream));
  const auto before = sim::counters();
  ASSERT_CUDA(cudaFreeAsync(memory, stream));
  EXPECT_EQ(sim::counters().live_allocations, before.live_allocations);  // still in use
  hold.release();
  ASSERT_CUDA(cudaStreamSynchronize(stream));
  EXPECT_EQ(sim::counters().live_allocations, before.live_allocations - 1);
}

TEST_F(OrderedMemoryTest, FreedOnce) {
  const TestStream stream;
  float* memory = nullptr;
  ASSERT_CUDA(cudaMallocAsync(&memory, 1024, stream));
  Hold hold(stream);
  ASSERT_CUDA(cudaFreeAsync(memory, stream));
  EXPECT_EQ(cudaFreeAsync(memory, stream), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(memory), cudaErrorInvalidValue);
  hold.release();
  EXPECT_CUDA(cudaStreamSynchronize(stream));
}

TEST_F(OrderedMemoryTest, MemoryThatIsOnItsWayOutIsWaitedFor) {
  const TestStream stream;
  std::size_t free = 0, total = 0;
  ASSERT_CUDA(cudaMemGetInfo(&free, &total));
  void *first = nullptr, *second = nullptr;
  ASSERT_CUDA(cudaMallocAsync(&first, free / 2 + 4096, stream));
  ASSERT_CUDA(cudaFreeAsync(first, stream));
  ASSERT_CUDA(cudaMallocAsync(&second, free / 2 + 4096, stream));
  EXPECT_EQ(cudaMallocAsync(&first, free / 2 + 4096, stream), cudaErrorMemoryAllocation);
  EXPECT_CUDA(cudaFree(second));
  cudaGetLastError();
}

}  // namespace
}  // namespace lockstep::test
