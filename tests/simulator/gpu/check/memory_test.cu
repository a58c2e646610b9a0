// LOCKSTEP_SIM_CHECK=memory: each way to misuse memory is found and named, and the corrected program passes.
#include <numeric>
#include <thread>

#include <backend/kernel_support.h>
#include "tests/simulator/gpu/check/support/check_test.h"

namespace lockstep::test {

__global__ void set_to(View<float> y, float value) {
  each_in_grid(y.count, [=](std::int64_t i) { y[i] = value; });
}

__global__ void copy_elements(View<const float> x, View<float> y, std::int64_t n) {
  each_in_grid(n, [=](std::int64_t i) { y[i] = x[i]; });
}

// With bare pointers, as kernels do that were written for speed.
__global__ void shift_by_pointer(View<const float> x, View<float> y, std::int64_t n, std::int64_t shift) {
  const float* from = x.data + shift;
  float* to = y.data;
  each_in_grid(n, [=](std::int64_t i) { to[i] = from[i]; });
}

__global__ void write_before(View<float> y, std::int64_t distance) {
  each_in_grid(1, [=](std::int64_t) { y.data[-distance] = 1; });
}

__global__ void add_in_place(View<const float> x, View<float> y) {
  each_in_grid(y.count, [=](std::int64_t i) { y[i] += x[i]; });
}

namespace {

class CheckedMemory : public CheckTest {};
using CheckedMemoryDeathTest = CheckedMemory;

TEST_F(CheckedMemoryDeathTest, HostReadOfDeviceMemoryIsExplained) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const DeviceArray<float> memory(100);
  volatile float* const address = memory.data();
  EXPECT_DEATH({ [[maybe_unused]] const float value = address[3]; },
               "host code reads device memory: byte 12 of the 400 bytes that cudaMalloc in .* allocated on device 0"
               "(.|\n)*HostReadOfDeviceMemoryIsExplained(.|\n)*cudaMemcpyDeviceToHost");
}

TEST_F(CheckedMemoryDeathTest, HostWriteOfDeviceMemoryIsExplained) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const DeviceArray<float> memory(100);
  volatile float* const address = memory.data();
  EXPECT_DEATH({ address[0] = 1; }, "host code writes device memory: byte 0 of the 400 bytes(.|\n)*cudaMemcpyHostToDevice");
}

TEST_F(CheckedMemoryDeathTest, HostReadOfFreedMemoryNamesTheFree) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  float* memory = nullptr;
  ASSERT_CUDA(cudaMalloc(&memory, 400));
  ASSERT_CUDA(cudaFree(memory));
  volatile float* const address = memory;
  EXPECT_DEATH({ [[maybe_unused]] const float value = address[0]; }, "cudaFree in .*HostReadOfFreedMemoryNamesTheFree.* has freed");
}

TEST_F(CheckedMemoryDeathTest, OtherFaultsEndAsTheyAlwaysDid) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const DeviceArray<float> memory(1);
  volatile std::uintptr_t nowhere = 64;
  const auto fault = [&] { [[maybe_unused]] const int value = *reinterpret_cast<volatile int*>(nowhere); };
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  EXPECT_DEATH(fault(), "Sanitizer");  // whose handler was there first
#else
  EXPECT_EXIT(fault(), ::testing::KilledBySignal(SIGSEGV), "^$");
#endif
}

TEST_F(CheckedMemory, CopyingIsHowTheHostReads) {
  const DeviceArray<float> memory(100);
  launch_on(nullptr, "set_to", set_to, memory.view(), 3.0F);
  EXPECT_EQ(memory.get(), std::vector<float>(100, 3.0F));
  expect_clean();
}

TEST_F(CheckedMemory, KernelOnAFreedBufferNamesTheFree) {
  float* memory = nullptr;
  ASSERT_CUDA(cudaMalloc(&memory, 400));
  ASSERT_CUDA(cudaFree(memory));
  launch_on(nullptr, "set_to", set_to, View<float>{memory, 100}, 1.0F);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  expect_report({"set_to", "writes freed memory", "the 400 bytes that cudaMalloc in", "They were freed by cudaFree in",
                 "KernelOnAFreedBufferNamesTheFree", "Fix: "});
}

TEST_F(CheckedMemory, FreedMemoryIsNotHandedOutAgainAtOnce) {
  float *first = nullptr, *second = nullptr;
  ASSERT_CUDA(cudaMalloc(&first, 400));
  ASSERT_CUDA(cudaFree(first));
  ASSERT_CUDA(cudaMalloc(&second, 400));
  EXPECT_NE(first, second);
  launch_on(nullptr, "set_to", set_to, View<float>{first, 100}, 1.0F);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  expect_report({"freed memory"});
  sim::clear_device_errors();
  ASSERT_CUDA(cudaFree(second));
}

TEST_F(CheckedMemory, FreedMemoryComesBackWhenItIsNeeded) {
  std::size_t free = 0, total = 0;
  ASSERT_CUDA(cudaMemGetInfo(&free, &total));
  for (int i = 0; i < 3; ++i) {
    char* most = nullptr;
    ASSERT_CUDA(cudaMalloc(&most, free)) << i;
    ASSERT_CUDA(cudaFree(most));
  }
  expect_clean();
}

TEST_F(CheckedMemory, CopyFromAFreedBufferIsExplained) {
  float* memory = nullptr;
  float host = 0;
  ASSERT_CUDA(cudaMalloc(&memory, 400));
  ASSERT_CUDA(cudaFree(memory));
  EXPECT_EQ(cudaMemcpy(&host, memory, 4, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  expect_report({"a copy was refused", "reads 4 bytes", "has freed"});
}

TEST_F(CheckedMemory, FreeingBehindTheLastUseIsRight) {
  const TestStream stream;
  float* memory = nullptr;
  ASSERT_CUDA(cudaMallocAsync(&memory, 400, stream));
  launch_on(stream, "set_to", set_to, View<float>{memory, 100}, 1.0F);
  ASSERT_CUDA(cudaFreeAsync(memory, stream));
  expect_clean();
}

TEST_F(CheckedMemory, WriteOutOfBoundsOfAViewIsNamed) {
  const DeviceArray<float> x(std::vector<float>(100, 1.0F)), y(std::vector<float>(100, 2.0F));
  // Both views lie inside their allocations; the kernel does not stay inside the second one.
  launch_on(nullptr, "copy_elements", copy_elements, x.view(), y.view().part(0, 50), 51);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  expect_report({"copy_elements", "out of bounds: it writes element 50 of the view in parameter 2, which has 50 elements of 4 bytes",
                 "was issued by", "Fix: "});
  sim::clear_device_errors();
  EXPECT_EQ(y.get(), std::vector<float>(100, 2.0F)) << "what lies behind the view is not touched";
}

TEST_F(CheckedMemory, ReadOutOfBoundsThroughABarePointerIsNamed) {
  for (const sim::KernelMode mode : {sim::KernelMode::fast, sim::KernelMode::faithful}) {
    sim::set_kernel_mode(mode);
    const DeviceArray<float> x(std::vector<float>(100, 1.0F)), y(100);
    launch_on(nullptr, "shift_by_pointer", shift_by_pointer, x.view(), y.view(), 100, 7);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    // Elements 100 to 106 lie outside; which of them is read first is up to the threads.
    expect_report({"out of bounds: it reads element 10", "of the view in parameter 1, which has 100 elements"});
    sim::clear_device_errors();
    sim::clear_check_reports();
    launch_on(nullptr, "shift_by_pointer", shift_by_pointer, x.view(), y.view(), 93, 7);
    expect_clean();
  }
}

TEST_F(CheckedMemory, WriteInFrontOfAViewIsNamed) {
  const DeviceArray<float> y(std::vector<float>(100, 2.0F));
  launch_on(nullptr, "write_before", write_before, y.view().part(50, 50), 1);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  expect_report({"it writes element -1 of the view in parameter 1"});
}

TEST_F(CheckedMemory, OverlappingViewsSeeEachOther) {
  std::vector<float> values(1000);
  std::iota(values.begin(), values.end(), 0.0F);
  const DeviceArray<float> memory(values);
  const View<const float> x{memory.data(), 1000};
  launch_on(nullptr, "add_in_place", add_in_place, x, memory.view());
  for (float& value : values) value *= 2;
  EXPECT_EQ(memory.get(), values);
  expect_clean();
}

TEST_F(CheckedMemory, UninitialisedReadIsNamed) {
  const DeviceArray<float> x(100), y(100);
  ASSERT_CUDA(cudaMemset(x.data(), 0, 200));
  launch_on(nullptr, "copy_elements", copy_elements, x.view(), y.view(), 100);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalState);
  expect_report({"copy_elements", "uninitialised read", "nothing has written 200 bytes of them, from byte 200", "cudaMalloc in", "Fix: "});
}

TEST_F(CheckedMemory, WrittenMemoryMayBeRead) {
  const DeviceArray<float> x(100), y(100);
  ASSERT_CUDA(cudaMemset(x.data(), 0, 200));
  launch_on(nullptr, "set_to", set_to, x.view().part(50, 50), 1.0F);
  launch_on(nullptr, "copy_elements", copy_elements, x.view(), y.view(), 100);
  expect_clean();
}

TEST_F(CheckedMemory, CopiesBetweenDevicesCarryWhatIsUninitialised) {
  const DeviceArray<float> x(100), y(100), z(100);
  ASSERT_CUDA(cudaMemset(x.data(), 0, 200));
  ASSERT_CUDA(cudaMemcpy(y.data(), x.data(), 400, cudaMemcpyDeviceToDevice));
  launch_on(nullptr, "copy_elements", copy_elements, y.view().part(0, 50), z.view().part(0, 50), 50);
  expect_clean();
  launch_on(nullptr, "copy_elements", copy_elements, y.view(), z.view(), 100);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalState);
  expect_report({"uninitialised read", "200 bytes of them, from byte 200"});
}

TEST_F(CheckedMemory, DownloadOfUninitialisedBytesIsNamed) {
  const DeviceArray<float> x(10);
  std::vector<float> host(10);
  EXPECT_EQ(cudaMemcpy(host.data(), x.data(), 40, cudaMemcpyDeviceToHost), cudaErrorIllegalState);
  expect_report({"uninitialised read"});
}

TEST_F(CheckedMemory, HostPointerInAKernelIsNamed) {
  std::vector<float> host(10);
  launch_on(nullptr, "set_to", set_to, View<float>{host.data(), 10}, 1.0F);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  expect_report({"set_to", "host memory", "cudaMemcpy"});
}

TEST_F(CheckedMemory, MissingPeerAccessIsNamedAndEnablingItHelps) {
  ASSERT_CUDA(cudaSetDevice(1));
  const DeviceArray<float> far(std::vector<float>(10, 0.0F));
  ASSERT_CUDA(cudaSetDevice(0));
  launch_on(nullptr, "set_to", set_to, far.view(), 1.0F);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  expect_report({"set_to", "belongs to device 1", "peer access from device 0", "cudaDeviceEnablePeerAccess(1, 0)"});
  sim::clear_device_errors();
  sim::clear_check_reports();
  ASSERT_CUDA(cudaDeviceEnablePeerAccess(1, 0));
  launch_on(nullptr, "set_to", set_to, far.view(), 1.0F);
  EXPECT_CUDA(cudaDeviceSynchronize());
  expect_clean();
  ASSERT_CUDA(cudaDeviceDisablePeerAccess(1));
}

}  // namespace
}  // namespace lockstep::test
