// Faithful kernels catch what the fast ones cannot: a missing barrier, and one that not all threads reach.
#include <backend/kernel_support.h>
#include "tests/simulator/gpu/runtime/support/gpu_test.h"

namespace lockstep::test {

// Each thread leaves a value and takes its neighbour's. Whether the barrier between is there is the kernel's argument.
__global__ void take_from_neighbour(View<const int> x, View<int> y, bool barrier) {
  __shared__ int shared[1024];
  const std::int64_t n = x.count;
  each_thread(n, [=](std::int64_t i) { shared[i] = x[i]; });
  if (barrier) __syncthreads();
  each_thread(n, [=](std::int64_t i) { y[i] = shared[(i + 1) % n]; });
  __syncthreads();
}

__global__ void some_leave_early(View<int> y) {
  each_thread(1, [=](std::int64_t) { y[blockIdx.x] = 1; });
  if (threadIdx.x == 3) return;
  __syncthreads();
}

__global__ void two_different_barriers(View<int> y) {
  if (threadIdx.x % 2 == 0) {
    __syncthreads();
  } else {
    __syncthreads();
  }
  each_thread(1, [=](std::int64_t) { y[0] = 1; });
}

__global__ void half_a_warp_shuffles(View<int> y) {
  int value = static_cast<int>(threadIdx.x);
  if (threadIdx.x < 16) value = __shfl_down_sync(0xffffffffU, value, 1);
  each_thread(32, [=](std::int64_t i) { y[i] = value; });
}

__global__ void half_a_warp_shuffles_by_its_mask(View<int> y) {
  int value = static_cast<int>(threadIdx.x);
  if (threadIdx.x < 16) value = __shfl_down_sync(0x0000ffffU, value, 1);
  each_thread(32, [=](std::int64_t i) { y[i] = value; });
}

namespace {

class BarrierTest : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    sim::set_kernel_mode(sim::KernelMode::faithful);
  }
};

std::vector<int> neighbours(const DeviceArray<int>& x, bool barrier, unsigned threads) {
  const DeviceArray<int> y(x.bytes() / sizeof(int));
  auto config = configuration(1, threads);
  EXPECT_CUDA(cudaLaunchKernelEx(&config, take_from_neighbour, x.view(), y.view(), barrier));
  return y.get();
}

TEST_F(BarrierTest, MissingBarrierIsCaughtAndThePresentOneIsNot) {
  int caught = 0, rounds = 0;
  int next = 1;  // fresh values each time: nothing left over in shared memory can be right by accident
  for (const unsigned threads : {2U, 32U, 100U, 256U}) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed, ++rounds) {
      sim::set_schedule_seed(seed);
      std::vector<int> values(256), expected(256);
      for (int& value : values) value = next++;
      for (std::size_t i = 0; i < values.size(); ++i) expected[i] = values[(i + 1) % values.size()];
      const DeviceArray<int> x(values);
      EXPECT_EQ(neighbours(x, true, threads), expected) << "threads " << threads << " seed " << seed;
      for (int& value : values) value = next++;
      for (std::size_t i = 0; i < values.size(); ++i) expected[i] = values[(i + 1) % values.size()];
      const DeviceArray<int> z(values);
      if (neighbours(z, false, threads) != expected) ++caught;
    }
  }
  EXPECT_EQ(caught, rounds);
}

TEST_F(BarrierTest, OneThreadNeedsNoBarrier) {
  const DeviceArray<int> x(std::vector<int>{5, 6, 7});
  EXPECT_EQ(neighbours(x, false, 1), (std::vector<int>{6, 7, 5}));
  sim::set_kernel_mode(sim::KernelMode::fast);
  EXPECT_EQ(neighbours(x, false, 256), (std::vector<int>{6, 7, 5}));
}

TEST_F(BarrierTest, BarrierThatOneThreadNeverReachesIsAFault) {
  const DeviceArray<int> y(2);
  auto config = configuration(2, 8);
  ::testing::internal::CaptureStderr();
  annotate_next_launch("some_leave_early", {});
  ASSERT_CUDA(cudaLaunchKernelEx(&config, some_leave_early, y.view()));
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
  const std::string message = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(message.find("some_leave_early"), std::string::npos) << message;
  EXPECT_NE(message.find("thread 3 has ended"), std::string::npos) << message;
  EXPECT_NE(message.find("barrier_test.cu:"), std::string::npos) << message;
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);  // it stays
  sim::clear_device_errors();
  config = configuration(2, 3);
  ASSERT_CUDA(cudaLaunchKernelEx(&config, some_leave_early, y.view()));  // thread 3 does not exist: all is well again
  EXPECT_CUDA(cudaDeviceSynchronize());
}

TEST_F(BarrierTest, TwoBarriersAreNotOne) {
  const DeviceArray<int> y(1);
  auto config = configuration(1, 2);
  ASSERT_CUDA(cudaLaunchKernelEx(&config, two_different_barriers, y.view()));
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
}

TEST_F(BarrierTest, ShuffleWaitsForAllItsMaskNames) {
  const DeviceArray<int> y(32);
  auto config = configuration(1, 32);
  ASSERT_CUDA(cudaLaunchKernelEx(&config, half_a_warp_shuffles_by_its_mask, y.view()));
  ASSERT_CUDA(cudaDeviceSynchronize());
  const std::vector<int> values = y.get();
  for (int i = 0; i < 32; ++i) EXPECT_EQ(values[static_cast<std::size_t>(i)], i < 15 ? i + 1 : i);
  ASSERT_CUDA(cudaLaunchKernelEx(&config, half_a_warp_shuffles, y.view()));
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
}

}  // namespace
}  // namespace lockstep::test
