// Faults stick to their device, and errors of calls to their thread.
#include <stdexcept>
#include <thread>

#include <backend/kernel_support.h>
#include "tests/simulator/gpu/runtime/support/gpu_test.h"

namespace lockstep::test {

__global__ void fill_with_one(View<float> y) {
  each_in_grid(y.count, [=](std::int64_t i) { y[i] = 1; });
}

namespace {

class FaultTest : public GpuTest {};

cudaError_t launch_fill(View<float> y) {
  auto config = configuration(4, 32);
  annotate_next_launch("fill_with_one", {});
  return cudaLaunchKernelEx(&config, fill_with_one, y);
}

TEST_F(FaultTest, HostPointerInAViewIsAnIllegalAddress) {
  std::vector<float> host(10);
  ::testing::internal::CaptureStderr();
  ASSERT_CUDA(launch_fill({host.data(), 10}));  // the launch itself cannot know
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  const std::string message = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(message.find("fill_with_one"), std::string::npos) << message;
  EXPECT_NE(message.find("host memory"), std::string::npos) << message;
  EXPECT_EQ(host, std::vector<float>(10));
}

TEST_F(FaultTest, FaultSticksToTheDeviceAndStopsItsWork) {
  const TestStream stream;
  std::vector<float> host(10);
  const DeviceArray<float> good(10);
  ASSERT_CUDA(launch_fill({host.data(), 10}));
  cudaDeviceSynchronize();
  void* block = nullptr;
  EXPECT_EQ(launch_fill(good.view()), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaMalloc(&block, 4), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);  // not cleared by looking

  ASSERT_CUDA(cudaSetDevice(1));  // the neighbour is well
  const DeviceArray<float> other(10);
  EXPECT_CUDA(launch_fill(other.view()));
  EXPECT_CUDA(cudaDeviceSynchronize());
  ASSERT_CUDA(cudaSetDevice(0));
  sim::clear_device_errors();
}

TEST_F(FaultTest, MemoryComesBackAlsoFromAFailedDevice) {
  const auto before = sim::counters();
  float *memory = nullptr, *host = nullptr;
  ASSERT_CUDA(cudaMalloc(&memory, 40));
  ASSERT_CUDA(cudaMallocHost(&host, 40));
  std::vector<float> pageable(10);
  ASSERT_CUDA(launch_fill({pageable.data(), 10}));
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaFree(memory), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaFreeHost(host), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaFree(nullptr), cudaErrorIllegalAddress);
  EXPECT_EQ(sim::counters().live_allocations, before.live_allocations);
  EXPECT_EQ(sim::counters().live_host_allocations, before.live_host_allocations);
}

TEST_F(FaultTest, WorkQueuedBehindAFaultIsDropped) {
  const TestStream stream;
  RunLog ran;
  Hold hold(stream);
  sim::Operation bad;
  bad.name = "bad";
  bad.run = [](int) { throw std::runtime_error("planned"); };
  ASSERT_CUDA(sim::enqueue(stream, std::move(bad)));
  ran.note(stream, "never");
  hold.release();
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorLaunchFailure);
  EXPECT_EQ(ran.text(), "");
  sim::clear_device_errors();
}

TEST_F(FaultTest, OperationChoosesItsFault) {
  sim::Operation bad;
  bad.parts = 3;
  bad.run = [](int part) {
    if (part == 1) throw sim::Fault{cudaErrorAssert, "part 1"};
  };
  ASSERT_CUDA(sim::enqueue(nullptr, std::move(bad)));
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorAssert);
}

TEST_F(FaultTest, MatmulOnHostMemoryIsAnIllegalAddress) {
  float host = 0;
  bool ran = false;
  sim::Operation matmul;
  matmul.kind = sim::OperationKind::matmul;
  matmul.touches = {{&host, 4, true}};
  matmul.run = [&](int) { ran = true; };
  ASSERT_CUDA(sim::enqueue(nullptr, std::move(matmul)));
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  EXPECT_FALSE(ran);
}

TEST_F(FaultTest, ViewMustStayInsideItsAllocation) {
  const DeviceArray<float> memory(10);
  ASSERT_CUDA(launch_fill(memory.view().part(5, 5)));
  EXPECT_CUDA(cudaDeviceSynchronize());
  ASSERT_CUDA(launch_fill(memory.view().part(5, 6)));
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  sim::clear_device_errors();
}

TEST_F(FaultTest, FreedMemoryIsAnIllegalAddress) {
  float* memory = nullptr;
  ASSERT_CUDA(cudaMalloc(&memory, 40));
  ASSERT_CUDA(launch_fill({memory, 10}));
  ASSERT_CUDA(cudaDeviceSynchronize());
  ASSERT_CUDA(cudaFree(memory));
  ASSERT_CUDA(launch_fill({memory, 10}));
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
}

TEST_F(FaultTest, EmptyViewsTouchNothing) {
  ASSERT_CUDA(launch_fill({}));
  EXPECT_CUDA(cudaDeviceSynchronize());
}

TEST_F(FaultTest, PageLockedMemoryIsInReach) {
  float* host = nullptr;
  ASSERT_CUDA(cudaMallocHost(&host, 40));
  ASSERT_CUDA(launch_fill({host, 10}));
  ASSERT_CUDA(cudaDeviceSynchronize());
  EXPECT_EQ(host[9], 1.0F);
  EXPECT_CUDA(cudaFreeHost(host));
}

TEST_F(FaultTest, MemoryOfAPeerNeedsPeerAccess) {
  ASSERT_CUDA(cudaSetDevice(1));
  const DeviceArray<float> far(10);
  ASSERT_CUDA(cudaSetDevice(0));
  ASSERT_CUDA(launch_fill(far.view()));
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  sim::clear_device_errors();

  int can = 0;
  EXPECT_CUDA(cudaDeviceCanAccessPeer(&can, 0, 1));
  EXPECT_EQ(can, 1);
  EXPECT_CUDA(cudaDeviceCanAccessPeer(&can, 0, 0));
  EXPECT_EQ(can, 0);
  ASSERT_CUDA(cudaDeviceEnablePeerAccess(1, 0));
  EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
  ASSERT_CUDA(launch_fill(far.view()));
  EXPECT_CUDA(cudaDeviceSynchronize());
  EXPECT_EQ(far.get(), std::vector<float>(10, 1.0F));
  ASSERT_CUDA(cudaDeviceDisablePeerAccess(1));
  EXPECT_EQ(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(0, 0), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(9, 0), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 1), cudaErrorInvalidValue);
}

TEST_F(FaultTest, LastErrorBelongsToTheThreadAndIsTakenOnce) {
  EXPECT_EQ(cudaSetDevice(99), cudaErrorInvalidDevice);
  std::thread([] { EXPECT_CUDA(cudaGetLastError()); }).join();
  int device = 0;
  EXPECT_CUDA(cudaGetDevice(&device));  // success does not overwrite it
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
  EXPECT_CUDA(cudaGetLastError());
}

TEST_F(FaultTest, HandlesThatAreNoneAreNoticed) {
  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr;
  ASSERT_CUDA(cudaStreamCreate(&stream));
  ASSERT_CUDA(cudaEventCreate(&event));
  ASSERT_CUDA(cudaStreamDestroy(stream));
  ASSERT_CUDA(cudaEventDestroy(event));
  int local = 0;
  auto* const garbage_stream = reinterpret_cast<cudaStream_t>(&local);
  auto* const garbage_event = reinterpret_cast<cudaEvent_t>(&local);
  for (cudaStream_t bad : {stream, garbage_stream}) {
    EXPECT_EQ(cudaStreamDestroy(bad), cudaErrorInvalidResourceHandle);
    EXPECT_EQ(cudaStreamSynchronize(bad), cudaErrorInvalidResourceHandle);
    EXPECT_EQ(cudaStreamQuery(bad), cudaErrorInvalidResourceHandle);
    EXPECT_EQ(cudaLaunchHostFunc(
                  bad, [](void*) {}, nullptr),
              cudaErrorInvalidResourceHandle);
    EXPECT_EQ(cudaMemcpyAsync(nullptr, nullptr, 0, cudaMemcpyDefault, bad), cudaErrorInvalidResourceHandle);
    EXPECT_EQ(sim::enqueue(bad, {}), cudaErrorInvalidResourceHandle);
    EXPECT_EQ(sim::device_of(bad), -1);
  }
  for (cudaEvent_t bad : {event, garbage_event, cudaEvent_t{}}) {
    EXPECT_EQ(cudaEventDestroy(bad), cudaErrorInvalidResourceHandle);
    EXPECT_EQ(cudaEventRecord(bad, nullptr), cudaErrorInvalidResourceHandle);
    EXPECT_EQ(cudaEventSynchronize(bad), cudaErrorInvalidResourceHandle);
    EXPECT_EQ(cudaEventQuery(bad), cudaErrorInvalidResourceHandle);
    EXPECT_EQ(cudaStreamWaitEvent(nullptr, bad), cudaErrorInvalidResourceHandle);
  }
  EXPECT_EQ(cudaStreamDestroy(nullptr), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaStreamDestroy(cudaStreamLegacy), cudaErrorInvalidResourceHandle);
}

TEST_F(FaultTest, BadValuesAreNoticed) {
  EXPECT_EQ(cudaGetDeviceCount(nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaSetDevice(-1), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaMalloc(static_cast<void**>(nullptr), 4), cudaErrorInvalidValue);
  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr;
  EXPECT_EQ(cudaStreamCreateWithFlags(&stream, 8), cudaErrorInvalidValue);
  EXPECT_EQ(cudaEventCreateWithFlags(&event, 64), cudaErrorInvalidValue);
  EXPECT_EQ(cudaLaunchHostFunc(nullptr, nullptr, nullptr), cudaErrorInvalidValue);
  cudaDeviceProp properties{};
  EXPECT_EQ(cudaGetDeviceProperties(&properties, 99), cudaErrorInvalidDevice);
}

TEST_F(FaultTest, EveryStatusHasANameAndAText) {
  EXPECT_STREQ(cudaGetErrorName(cudaSuccess), "cudaSuccess");
  EXPECT_STREQ(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation");
  EXPECT_STREQ(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
  EXPECT_STREQ(cudaGetErrorName(static_cast<cudaError_t>(12345)), "unrecognized error code");
}

}  // namespace
}  // namespace lockstep::test
