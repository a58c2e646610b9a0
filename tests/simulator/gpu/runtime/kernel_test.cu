// Kernels: what a launch refuses, and that every way of running one gives the same bits.
#include <backend/kernel_support.h>

#include <cmath>
#include <numeric>
#include <random>

#include <backend/cost.h>
#include "tests/simulator/gpu/runtime/support/gpu_test.h"

namespace lockstep::test {

__global__ void scale(View<const float> x, View<float> y, float factor) {
  each_in_grid(y.count, [=](std::int64_t i) { y[i] = factor * x[i]; });
}

// y[row] = (x[row] - max) / sum: two reductions and a loop in a row.
__global__ void normalize_rows(View<const float> x, View<float> y, std::int64_t rows, std::int64_t columns) {
  each_block(rows, [=](std::int64_t row) {
    const float* in = x.data + row * columns;
    float* out = y.data + row * columns;
    const float largest = lane_max(columns, [=](std::int64_t c) { return in[c]; });
    const float sum = lane_sum(columns, [=](std::int64_t c) { return std::exp(in[c] - largest); });
    each_thread(columns, [=](std::int64_t c) { out[c] = std::exp(in[c] - largest) / sum; });
  });
}

// Reverses each row through shared memory: what one thread writes another one reads.
__global__ void reverse_rows(View<const float> x, View<float> y, std::int64_t rows, std::int64_t columns) {
  __shared__ float tile[256];
  each_block(rows, [=](std::int64_t row) {
    each_thread(columns, [=](std::int64_t c) { tile[c] = x[row * columns + c]; });
    __syncthreads();
    each_thread(columns, [=](std::int64_t c) { y[row * columns + c] = tile[columns - 1 - c]; });
    __syncthreads();
  });
}

__global__ void sum_in_double(View<const float> x, View<double> total) {
  each_block(1, [=](std::int64_t) {
    const double sum = lane_sum<64>(x.count, [=](std::int64_t i) { return static_cast<double>(x[i]); });
    each_thread(1, [=](std::int64_t) { total[0] = sum; });
  });
}

__global__ void where_am_i(View<unsigned> out) {
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  out[block * blockDim.x * blockDim.y * blockDim.z + thread] = block * 10000 + thread;
}

__global__ void warp_sums(View<const int> x, View<int> down, View<int> butterfly) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  int a = x[i], b = x[i];
  for (int d = 16; d > 0; d /= 2) a += __shfl_down_sync(0xffffffffU, a, static_cast<unsigned>(d));
  for (int d = 16; d > 0; d /= 2) b += __shfl_xor_sync(0xffffffffU, b, d);
  __syncwarp();
  if (threadIdx.x % 32 == 0) down[i / 32] = a;
  butterfly[i] = b;
}

struct Many {
  double values[60];
};
__global__ void last_of_many(Many many, View<double> out) {
  each_in_grid(1, [=](std::int64_t) { out[0] = many.values[59]; });
}

namespace {

class KernelTest : public GpuTest {};

std::vector<float> random_values(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 3);
  std::vector<float> values(n);
  for (float& value : values) value = normal(random);
  return values;
}

const std::vector<std::pair<dim3, dim3>>& shapes() {
  static const std::vector<std::pair<dim3, dim3>> kShapes = {
      {1, 1},
      {1, 2},
      {1, 3},
      {1, 7},
      {1, 31},
      {1, 32},
      {1, 33},
      {1, 64},
      {1, 100},
      {1, 1024},
      {2, 1},
      {3, 5},
      {4, 32},
      {5, 48},
      {7, 64},
      {8, 17},
      {16, 128},
      {33, 3},
      {64, 256},
      {100, 1},
      {2, 255},
      {13, 96},
      {2, 33},
      {1, 512},
      {40, 40},
      {3, 1000},
      {dim3(2, 3), dim3(4, 5)},
      {dim3(1, 2, 3), dim3(8, 2, 2)},
      {dim3(5, 1, 2), dim3(1, 33, 1)},
  };
#if defined(__SANITIZE_THREAD__)
  // Fibers are slow under this sanitizer.
  static const std::vector<std::pair<dim3, dim3>> kFew = {{1, 1}, {1, 7}, {2, 33}, {3, 5}, {dim3(1, 2, 3), dim3(8, 2, 2)}};
  return kFew;
#endif
  return kShapes;
}

template <typename... Parameters, typename... Arguments>
void run(sim::KernelMode mode, dim3 grid, dim3 block, void (*kernel)(Parameters...), const Arguments&... arguments) {
  sim::set_kernel_mode(mode);
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  ASSERT_CUDA(cudaLaunchKernelEx(&config, kernel, arguments...));
  ASSERT_CUDA(cudaDeviceSynchronize());
}

TEST_F(KernelTest, ElementsAreAllVisitedOnceByEveryShape) {
  for (std::size_t n : {1U, 5U, 64U, 1000U, 4097U}) {
    const DeviceArray<float> x(random_values(n, 1)), y(n);
    std::vector<float> expected = x.get();
    for (float& value : expected) value *= 2.5F;
    for (const auto mode : {sim::KernelMode::fast, sim::KernelMode::faithful}) {
      for (const auto& [grid, block] : shapes()) {
        ASSERT_CUDA(cudaMemset(y.data(), 0xff, y.bytes()));
        run(mode, grid, block, scale, x.view(), y.view(), 2.5F);
        ASSERT_EQ(y.get(), expected) << "grid " << grid.x << " block " << block.x << " n " << n;
      }
    }
  }
}

TEST_F(KernelTest, FaithfulEqualsFastBitForBitOnEveryShape) {
  std::mt19937 random(11);
  for (const auto& [rows, columns] : {std::pair{1, 1}, {3, 31}, {7, 32}, {5, 33}, {20, 10}, {2, 255}, {9, 100}}) {
    const auto n = static_cast<std::size_t>(rows * columns);
    const DeviceArray<float> x(random_values(n, random())), fast(n), faithful(n);
    for (const bool reverse : {false, true}) {
      auto* const kernel = reverse ? reverse_rows : normalize_rows;
      run(sim::KernelMode::fast, 16, 128, kernel, View<const float>(x.view()), fast.view(), rows, columns);
      const std::vector<float> expected = fast.get();
      std::uint64_t seed = 0;
      for (const auto& [grid, block] : shapes()) {
        sim::set_schedule_seed(seed++ % 3);
        ASSERT_CUDA(cudaMemset(faithful.data(), 0xff, faithful.bytes()));
        run(sim::KernelMode::faithful, grid, block, kernel, View<const float>(x.view()), faithful.view(), rows, columns);
        ASSERT_EQ(faithful.get(), expected) << "grid " << grid.x << " block " << block.x << " rows " << rows << " columns " << columns;
      }
      sim::set_schedule_seed(0);
    }
  }
}

TEST_F(KernelTest, LaneSumHasTheDocumentedOrder) {
  for (std::size_t n : {0U, 1U, 31U, 32U, 33U, 1000U}) {
    const std::vector<float> values = random_values(n + 1, 5);
    double lanes[64] = {};
    for (std::size_t i = 0; i < n; ++i) lanes[i % 64] += values[i];
    for (int half = 32; half > 0; half /= 2) {
      for (int l = 0; l < half; ++l) lanes[l] += lanes[l + half];
    }
    const DeviceArray<float> x(values);
    const DeviceArray<double> total(1);
    for (const auto mode : {sim::KernelMode::fast, sim::KernelMode::faithful}) {
      run(mode, 1, 48, sum_in_double, View<const float>(x.view().part(0, static_cast<std::int64_t>(n))), total.view());
      EXPECT_EQ(total.get().at(0), lanes[0]) << n;
    }
  }
}

TEST_F(KernelTest, CoordinatesAreThoseOfTheLaunchInFaithfulMode) {
  const dim3 grid(3, 2, 2), block(4, 3, 2);
  const std::size_t threads = 12U * 24U;
  const DeviceArray<unsigned> out(threads);
  run(sim::KernelMode::faithful, grid, block, where_am_i, out.view());
  const std::vector<unsigned> seen = out.get();
  for (unsigned i = 0; i < threads; ++i) EXPECT_EQ(seen[i], i / 24 * 10000 + i % 24);
}

TEST_F(KernelTest, ShufflesMoveValuesWithinTheWarp) {
  std::vector<int> values(192);
  std::iota(values.begin(), values.end(), 1);
  const DeviceArray<int> x(values), down(6), butterfly(192);
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    sim::set_schedule_seed(seed);
    run(sim::KernelMode::faithful, 2, 96, warp_sums, View<const int>(x.view()), down.view(), butterfly.view());
    const std::vector<int> a = down.get(), b = butterfly.get();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const int first = static_cast<int>(i / 32 * 32) + 1;
      const int sum = 32 * first + 31 * 16;
      EXPECT_EQ(b[i], sum);
      EXPECT_EQ(a[i / 32], sum);
    }
  }
}

TEST_F(KernelTest, ManyArgumentsArriveWhole) {
  Many many{};
  many.values[59] = 42.5;
  const DeviceArray<double> out(1);
  run(sim::KernelMode::fast, 1, 1, last_of_many, many, out.view());
  EXPECT_EQ(out.get().at(0), 42.5);
}

TEST_F(KernelTest, KernelTakesItsTurnInTheStream) {
  const TestStream stream;
  const DeviceArray<float> x(std::vector<float>{1, 2, 3}), y(3);
  ASSERT_CUDA(cudaMemset(y.data(), 0, y.bytes()));
  ASSERT_CUDA(cudaDeviceSynchronize());
  Hold hold(stream);
  auto config = configuration(1, 32, stream);
  annotate_next_launch("scale", {3, 24});
  ASSERT_CUDA(cudaLaunchKernelEx(&config, scale, x.view(), y.view(), 2.0F));
  EXPECT_EQ(cudaStreamQuery(stream), cudaErrorNotReady);
  hold.release();
  ASSERT_CUDA(cudaStreamSynchronize(stream));
  EXPECT_EQ(y.get(), (std::vector<float>{2, 4, 6}));
}

TEST_F(KernelTest, ConfigurationsThatNoGpuTakesAreRefused) {
  const DeviceArray<float> x(3), y(3);
  const auto launch = [&](dim3 grid, dim3 block) {
    cudaLaunchConfig_t config{};
    config.gridDim = grid;
    config.blockDim = block;
    return cudaLaunchKernelEx(&config, scale, x.view(), y.view(), 2.0F);
  };
  EXPECT_EQ(launch(0, 32), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch(1, 0), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch(1, 1025), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch(1, dim3(32, 33)), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch(1, dim3(1, 1, 65)), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch(dim3(1, 65536), 1), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch(0x80000000U, 1), cudaErrorInvalidConfiguration);
  EXPECT_CUDA(launch(1, 1024));
  cudaLaunchConfig_t config = configuration(1, 1);
  void (*none)(View<const float>, View<float>, float) = nullptr;
  EXPECT_EQ(cudaLaunchKernelEx(&config, none, x.view(), y.view(), 2.0F), cudaErrorInvalidDeviceFunction);
  config.dynamicSmemBytes = std::size_t{1} << 20;
  EXPECT_EQ(cudaLaunchKernelEx(&config, scale, x.view(), y.view(), 2.0F), cudaErrorInvalidValue);
}

TEST_F(KernelTest, StreamOfAnotherDeviceIsRefused) {
  ASSERT_CUDA(cudaSetDevice(1));
  const TestStream of_device_1;
  ASSERT_CUDA(cudaSetDevice(0));
  const DeviceArray<float> x(3), y(3);
  auto config = configuration(1, 1, of_device_1);
  EXPECT_EQ(cudaLaunchKernelEx(&config, scale, x.view(), y.view(), 2.0F), cudaErrorInvalidResourceHandle);
  EXPECT_CUDA(cudaDeviceSynchronize());  // nothing sticks
}

}  // namespace
}  // namespace lockstep::test
