// What the virtual GPU adds to kernels from source: mistakes by line of the source, and counts of warps against closed forms.
#include "simulator/gpu/runtime/control.h"
#include "simulator/gpu/runtime/runtime.h"
#include "tests/engine/nvrtc/support/nvrtc.h"

namespace lockstep::testing {

namespace {

class CudaKernelOnTheVirtualGpu : public WithNvrtc {
 protected:
  ~CudaKernelOnTheVirtualGpu() override { sim::clear_device_errors(); }
};

TEST_F(CudaKernelOnTheVirtualGpu, AnAccessOutsideIsNamedByItsLineAndThread) {
  const CudaKernel kernel(
      "__global__ void shift(float* x, int n) {\n  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  x[i + n] = 1;\n}\n", "shift");
  Array x(Shape{64});
  const std::string said = error_of([&] { kernel.launch({2, 32}, x, 1); });
  EXPECT_TRUE(says(said, "Kernel 'shift(float*, int)' failed with cudaErrorIllegalAddress."));
  EXPECT_TRUE(says(said, "block (1, 0, 0), thread (31, 0, 0)"));
  EXPECT_TRUE(says(said, "kernel.cu line 3"));
  EXPECT_TRUE(says(error_of([&] { kernel.launch({2, 32}, x, 0); }), "cudaErrorIllegalAddress"));  // as CUDA has it
  sim::clear_device_errors();
  kernel.launch({2, 32}, x, 0);
  EXPECT_EQ(x.data<float>()[63], 1);
}

TEST_F(CudaKernelOnTheVirtualGpu, AFailedAssertionIsNamedByItsText) {
  const CudaKernel kernel("__global__ void k(int n) {\n  assert(n < 3);\n}\n", "k");
  EXPECT_TRUE(says(error_of([&] { kernel.launch({1, 1}, 3); }), "cudaErrorAssert"));
}

// One warp, x[stride * thread]: a load and a store each touch as many sectors of 32 bytes as there are different ones.
TEST_F(CudaKernelOnTheVirtualGpu, CountsSectorsOfAStride) {
  const CudaKernel kernel("__global__ void k(float* x, int stride) {\n  x[threadIdx.x * stride] = 1;\n}\n", "k");
  for (const int stride : {1, 2, 4, 8, 16}) {
    Array x(Shape{32 * stride});
    const LaunchReport report = kernel.launch({1, 32}, x, stride);
    ASSERT_TRUE(report.counted);
    EXPECT_EQ(report.total.sectors, static_cast<std::uint64_t>(std::min(32, 4 * stride))) << stride;
    EXPECT_EQ(report.total.fewest_sectors, 4U);
    ASSERT_EQ(report.lines.size(), 3U);  // arguments are loaded at the line of the kernel's name; it returns in the last
    EXPECT_EQ(report.lines[1].line, 2);
    EXPECT_EQ(report.lines[1].counts.sectors, report.total.sectors);
  }
}

TEST_F(CudaKernelOnTheVirtualGpu, CountsBankConflictsAndDivergence) {
  const CudaKernel banks(R"(
    __global__ void k(float* x, int stride) {
      __shared__ float s[1024];
      s[threadIdx.x * stride] = x[threadIdx.x];
      __syncthreads();
      x[threadIdx.x] = s[(31 - threadIdx.x) * stride];
    })",
                         "k");
  for (const int ways : {1, 2, 4, 8, 16, 32}) {
    Array x(Shape{32});
    const LaunchReport report = banks.launch({1, 32}, x, ways);
    EXPECT_EQ(report.total.fewest_passes, 2U);
    EXPECT_EQ(report.total.passes, static_cast<std::uint64_t>(2 * ways)) << ways;
  }
  const CudaKernel branch(
      "__device__ __noinline__ float f(float v) { return v * v + 1; }\n"
      "__global__ void k(float* x, int n) {\n  if ((int)threadIdx.x < n) x[threadIdx.x] = f(x[threadIdx.x]);\n}\n",
      "k");
  for (const int n : {0, 1, 31, 32}) {
    Array x(Shape{32});
    EXPECT_EQ(branch.launch({1, 32}, x, n).total.divergent, n % 32 == 0 ? 0U : 1U) << n;
  }
}

TEST_F(CudaKernelOnTheVirtualGpu, TheCountsAreOfOneLaunch) {
  const CudaKernel kernel("__global__ void k(float* x) { x[threadIdx.x] += 1; }", "k");
  Array x(Shape{32});
  const LaunchReport first = kernel.launch({1, 32}, x), second = kernel.launch({1, 32}, x);
  EXPECT_GT(first.total.instructions, 0U);
  EXPECT_EQ(first.total.instructions, second.total.instructions);
  EXPECT_TRUE(says(first.text(), "sectors / least"));
}

TEST_F(CudaKernelOnTheVirtualGpu, AKernelOfEachGpuSeesItsOwnVariables) {
  const CudaKernel kernel("__device__ int calls;\n__global__ void k(int* x) { x[0] = ++calls; }", "k");
  Array x(Shape{1}, DType::int32);
  for (int i = 1; i <= 3; ++i) {
    kernel.launch({1, 1}, x);
    EXPECT_EQ(x.data<std::int32_t>()[0], i);
  }
  sim::set_current_device(1);
  kernel.launch({1, 1}, x);
  sim::set_current_device(0);
  EXPECT_EQ(x.data<std::int32_t>()[0], 1);
}

TEST_F(CudaKernelOnTheVirtualGpu, LeavesNoMemoryBehind) {
  const sim::Counters before = sim::counters();
  {
    const CudaKernel kernel("__global__ void k(float* x) { x[threadIdx.x] += 1; }", "k");
    Array x(Shape{32});
    kernel.launch({1, 32}, x);
  }
  const sim::Counters after = sim::counters();
  EXPECT_EQ(after.live_allocations, before.live_allocations);
  EXPECT_EQ(after.live_streams, before.live_streams);
}

}  // namespace

}  // namespace lockstep::testing
