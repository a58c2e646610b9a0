// A GPU that fails ends its communicators: no stream waits for its rank, and every rank's error names the rank whose GPU failed.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "simulator/gpu/runtime/control.h"
#include "simulator/gpu/runtime/operation.h"
#include "tests/simulator/gpu/nccl/support/cluster.h"

namespace lockstep::test {
namespace {

class DeviceFailure : public ::testing::TestWithParam<Way> {
 protected:
  Cluster cluster{3, GetParam()};
  std::vector<std::unique_ptr<DeviceBytes>> buffers;

  DeviceFailure() {
    for (int r = 0; r < 3; ++r) buffers.push_back(cluster.upload(r, std::vector<float>(1000, 1.0F)));
    cluster.synchronize();
  }
  void TearDown() override { sim::clear_device_errors(); }  // before memory and streams go

  ncclResult_t sum(int rank) {
    const auto r = static_cast<std::size_t>(rank);
    return ncclAllReduce(buffers[r]->data(), buffers[r]->data(), 1000, ncclFloat32, ncclSum, cluster.comms[r], cluster.streams[r]);
  }

  void break_gpu_of(int rank) {
    sim::Operation operation;
    operation.name = "broken kernel";
    operation.run = [](int) { throw sim::Fault{cudaErrorIllegalAddress, "as the test wants it"}; };
    ASSERT_EQ(sim::enqueue(cluster.streams[static_cast<std::size_t>(rank)], std::move(operation)), cudaSuccess);
  }

  // The streams of the other ranks complete, and all communicators report the error.
  void expect_released(int broken) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    const auto wait_for = [&](const auto& condition) {
      while (!condition() && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return condition();
    };
    for (std::size_t r = 0; r < 3; ++r) {
      const auto is_dry = [&] { return cudaStreamQuery(cluster.streams[r]) != cudaErrorNotReady; };
      const auto knows = [&] {
        ncclResult_t error = ncclSuccess;
        return ncclCommGetAsyncError(cluster.comms[r], &error) == ncclSuccess && error == ncclUnhandledCudaError;
      };
      const bool dry = wait_for(is_dry);
      const bool known = wait_for(knows);
      EXPECT_TRUE(known) << "rank " << r;
      EXPECT_TRUE(dry) << "the stream of rank " << r << " waits for ever";
      if (!dry) {  // let the test end
        for (ncclComm_t& comm : cluster.comms) ncclCommAbort(std::exchange(comm, nullptr));
        return;
      }
      EXPECT_EQ(sum(static_cast<int>(r)), ncclUnhandledCudaError);
      const std::string text = ncclGetLastError(cluster.comms[r]);
      EXPECT_NE(text.find("rank " + std::to_string(broken) + "'s GPU has failed"), std::string::npos) << text;
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Ways, DeviceFailure, ::testing::Values(Way::direct, Way::shared_memory, Way::tcp), [](const auto& way) {
  return way.param == Way::direct ? "direct" : way.param == Way::tcp ? "tcp" : "shared_memory";
});

TEST_P(DeviceFailure, BeforeAQueuedCollectiveReleasesAll) {
  break_gpu_of(1);
  // Whether the GPU has failed already when rank 1 calls is a matter of time; either is refused or skipped.
  for (int r = 0; r < 3; ++r) sum(r);
  expect_released(1);
}

TEST_P(DeviceFailure, OfARankThatCallsNoMoreReleasesTheRanksThatWaitForIt) {
  const auto gate = sim::make_gate(sim::kOpenedFromOutside, "hold");
  ASSERT_EQ(sim::enqueue_gate(cluster.streams[2], gate), cudaSuccess);
  break_gpu_of(2);
  for (int r = 0; r < 3; ++r) EXPECT_EQ(sum(r), ncclSuccess);
  for (int r = 0; r < 2; ++r) EXPECT_EQ(sum(r), ncclSuccess);  // this one rank 2 never calls
  sim::open_gate(gate);
  expect_released(2);
}

TEST_P(DeviceFailure, IsFoundBeforeTheArgumentsAre) {
  EXPECT_EQ(sum(1), ncclSuccess);
  EXPECT_EQ(sum(2), ncclSuccess);
  break_gpu_of(0);
  cudaStreamSynchronize(cluster.streams[0]);
  void* memory = nullptr;
  cudaSetDevice(0);
  EXPECT_NE(cudaMalloc(&memory, 4000), cudaSuccess);
  EXPECT_EQ(ncclAllReduce(memory, memory, 1000, ncclFloat32, ncclSum, cluster.comms[0], cluster.streams[0]), ncclUnhandledCudaError);
  expect_released(0);
}

TEST_P(DeviceFailure, ReleasesATransfer) {
  break_gpu_of(1);
  cudaStreamSynchronize(cluster.streams[1]);
  EXPECT_EQ(ncclSend(buffers[0]->data(), 10, ncclFloat32, 1, cluster.comms[0], cluster.streams[0]), ncclSuccess);
  EXPECT_EQ(ncclRecv(buffers[1]->data(), 10, ncclFloat32, 0, cluster.comms[1], cluster.streams[1]), ncclUnhandledCudaError);
  expect_released(1);
}

}  // namespace
}  // namespace lockstep::test
