// Faults on demand: planned by call, device and number, they hit exactly what they name.
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <stdexcept>
#include <thread>

#include <backend/kernel_support.h>
#include "simulator/gpu/runtime/config.h"
#include "simulator/gpu/runtime/fault_calls.h"
#include "simulator/gpu/runtime/faults.h"
#include "tests/simulator/gpu/runtime/support/gpu_test.h"

namespace lockstep::test {

__global__ void raise_by_one(View<float> y) {
  each_in_grid(y.count, [=](std::int64_t i) { y[i] += 1; });
}

namespace {

class PlannedFaultTest : public GpuTest {
 protected:
  void TearDown() override {
    sim::reset_faults();
    GpuTest::TearDown();
  }
};

std::vector<cudaError_t> allocate(int count) {
  std::vector<cudaError_t> statuses;
  for (int i = 0; i < count; ++i) {
    void* memory = nullptr;
    statuses.push_back(cudaMalloc(&memory, 8));
    if (memory != nullptr) {
      EXPECT_CUDA(cudaFree(memory));
    }
  }
  return statuses;
}

cudaError_t raise(cudaStream_t stream, View<float> y) {
  const auto config = configuration(1, 32, stream);
  return cudaLaunchKernelEx(&config, raise_by_one, y);
}

TEST_F(PlannedFaultTest, TheNamedCallFailsAndNoOther) {
  sim::arm_faults("cudaMalloc:3:error=2");
  EXPECT_EQ(allocate(5), (std::vector{cudaSuccess, cudaSuccess, cudaErrorMemoryAllocation, cudaSuccess, cudaSuccess}));
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);  // not sticky
  ASSERT_EQ(sim::armed_faults().size(), 1U);
  EXPECT_EQ(sim::armed_faults()[0].seen, 5U);
  EXPECT_EQ(sim::armed_faults()[0].fired, 1U);
}

TEST_F(PlannedFaultTest, SeveralInARow) {
  sim::arm_faults("alloc:2:times=2");
  EXPECT_EQ(allocate(4), (std::vector{cudaSuccess, cudaErrorMemoryAllocation, cudaErrorMemoryAllocation, cudaSuccess}));
}

TEST_F(PlannedFaultTest, CallsOfOtherDevicesDoNotCount) {
  sim::arm_faults("cudaMalloc:2:device=1");
  EXPECT_EQ(allocate(3), std::vector(3, cudaSuccess));
  ASSERT_CUDA(cudaSetDevice(1));
  EXPECT_EQ(allocate(3), (std::vector{cudaSuccess, cudaErrorMemoryAllocation, cudaSuccess}));
  ASSERT_CUDA(cudaSetDevice(0));
}

TEST_F(PlannedFaultTest, ZeroOnlyCounts) {
  sim::arm_faults("launch:0;copy:0;alloc:0");
  const DeviceArray<float> y(std::vector<float>(4, 1.0F));
  ASSERT_CUDA(raise(nullptr, y.view()));
  ASSERT_CUDA(raise(nullptr, y.view()));
  EXPECT_EQ(y.get(), std::vector<float>(4, 3.0F));
  const auto plans = sim::armed_faults();
  ASSERT_EQ(plans.size(), 3U);
  EXPECT_EQ(plans[0].seen, 2U);
  EXPECT_EQ(plans[1].seen, 2U);
  EXPECT_EQ(plans[2].seen, 1U);
}

TEST_F(PlannedFaultTest, FailedLaunchDoesNothing) {
  const DeviceArray<float> y(std::vector<float>(4, 1.0F));
  sim::arm_faults("launch:1");
  EXPECT_EQ(raise(nullptr, y.view()), cudaErrorLaunchFailure);
  sim::reset_faults();
  EXPECT_EQ(y.get(), std::vector<float>(4, 1.0F));
}

TEST_F(PlannedFaultTest, OperationFaultsWhenItRunsAndSticks) {
  const DeviceArray<float> y(std::vector<float>(4, 1.0F));
  const TestStream stream;
  sim::arm_faults("operation:2:error=700");
  ASSERT_CUDA(raise(stream, y.view()));
  ASSERT_CUDA(raise(stream, y.view()));  // the call knows nothing yet
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorIllegalAddress);
  EXPECT_EQ(raise(stream, y.view()), cudaErrorIllegalAddress);
  sim::reset_faults();
  sim::clear_device_errors();
  EXPECT_EQ(y.get(), std::vector<float>(4, 2.0F));
}

TEST_F(PlannedFaultTest, OperationsOfOtherDevicesDoNotCount) {
  const TestStream here;
  ASSERT_CUDA(cudaSetDevice(2));
  const TestStream there;
  ASSERT_CUDA(cudaSetDevice(0));
  RunLog ran;
  sim::arm_faults("operation:1:device=2");
  ran.note(here, "x");
  ran.note(there, "never");
  EXPECT_CUDA(cudaStreamSynchronize(here));
  EXPECT_EQ(cudaStreamSynchronize(there), cudaErrorLaunchFailure);
  EXPECT_EQ(ran.text(), "x");
}

TEST_F(PlannedFaultTest, StalledCallComesLateAndWorks) {
  sim::arm_faults("cudaMalloc:1:stall=30");
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(allocate(1), std::vector(1, cudaSuccess));
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(30));
}

TEST_F(PlannedFaultTest, StalledStreamStandsStillAloneAndGoesOn) {
  const TestStream stalled, free;
  RunLog ran;
  sim::arm_faults("operation:2:stall=60");
  const auto start = std::chrono::steady_clock::now();
  ran.note(stalled, "a");
  ran.note(stalled, "b");
  ran.note(free, "c");
  ASSERT_CUDA(cudaStreamSynchronize(free));
  ASSERT_CUDA(cudaStreamSynchronize(stalled));
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(60));
  EXPECT_EQ(ran.entries().back(), "b");
}

TEST_F(PlannedFaultTest, HungStreamHangsUntilReset) {
  const TestStream stream;
  RunLog ran;
  sim::arm_faults("operation:1:hang");
  ran.note(stream, "x");
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(cudaStreamQuery(stream), cudaErrorNotReady);
  sim::reset_faults();
  EXPECT_CUDA(cudaStreamSynchronize(stream));
  EXPECT_EQ(ran.text(), "x");
}

TEST_F(PlannedFaultTest, AnyCallCanBeHit) {
  cudaStream_t stream = nullptr;
  sim::arm_faults("any:1:error=101");
  EXPECT_EQ(cudaStreamCreate(&stream), cudaErrorInvalidDevice);
  EXPECT_EQ(stream, nullptr);
  sim::arm_faults("cudaStreamSynchronize:1:error=999");
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaErrorUnknown);
  EXPECT_CUDA(cudaStreamSynchronize(nullptr));
}

TEST_F(PlannedFaultTest, UnreadableTextIsExplained) {
  for (const char* text : {"cudaMalloc:x", "malloc:1", "cudaMalloc:1:device=-1", "cudaMalloc:1:error=0", "launch:1:hang", "cudaMalloc:1:2",
                           "cudaMalloc:1:stall", ":1"}) {
    std::string problem;
    sim::parse_faults(text, problem);
    EXPECT_NE(problem.find(text), std::string::npos) << text << ": " << problem;
    EXPECT_THROW(sim::arm_faults(text), std::invalid_argument);
  }
  std::string problem;
  const auto plans = sim::parse_faults("cudaMalloc:3:device=1:error=2;kill-peer:2;operation:hang", problem);
  EXPECT_EQ(problem, "");
  ASSERT_EQ(plans.size(), 3U);
  EXPECT_EQ(plans[0].at, 3U);
  EXPECT_EQ(plans[0].device, 1);
  EXPECT_EQ(plans[0].error, 2);
  EXPECT_EQ(plans[1].call, "collective");
  EXPECT_TRUE(plans[1].kill);
  EXPECT_TRUE(plans[2].hang);
}

TEST_F(PlannedFaultTest, EnvironmentIsRead) {
  setenv("LOCKSTEP_SIM_FAULT", "launch:7", 1);
  EXPECT_EQ(sim::read_config().faults, "launch:7");
  EXPECT_EQ(sim::read_config().problem, "");
  setenv("LOCKSTEP_SIM_FAULT", "lunch:7", 1);
  EXPECT_NE(sim::read_config().problem.find("lunch:7"), std::string::npos);
  unsetenv("LOCKSTEP_SIM_FAULT");
}

TEST(PlannedFaultDeathTest, KillEndsTheProcessAtOnce) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        sim::arm_faults("cudaMalloc:1:kill");
        void* memory = nullptr;
        cudaMalloc(&memory, 8);
      },
      ::testing::KilledBySignal(SIGKILL), "");
}

// Every call that asks for a plan is in the list of names, and no other: a name that is misspelt is refused.
TEST(FaultNames, AreThoseOfTheCallsThatAskForAPlan) {
  namespace fs = std::filesystem;
  const std::regex definition(R"(^\w[\w ]*\*? ?(cuda\w+)\()");
  std::set<std::string> asking = {"cudaLaunchKernelEx", "cudaLaunchKernel", "cudaLaunchKernelExC", "cublasLtMatmul", "cudnnBackendExecute",
                                  "ncclAllReduce",      "ncclBroadcast",    "ncclReduce",          "ncclAllGather",  "ncclReduceScatter"};
  for (const fs::directory_entry& entry : fs::directory_iterator(LOCKSTEP_VIRTUAL_RUNTIME)) {
    if (entry.path().filename().string().rfind("api_", 0) != 0) continue;
    std::ifstream file(entry.path());
    std::string line, name;
    while (std::getline(file, line)) {
      std::smatch match;
      if (std::regex_search(line, match, definition)) name = match[1];
      if (line.find("called(__func__") != std::string::npos) asking.insert(name);
    }
  }
  EXPECT_GT(asking.size(), 40U);
  EXPECT_EQ(std::set<std::string>(sim::kFaultCalls.begin(), sim::kFaultCalls.end()), asking);
  for (const std::string& name : asking) {
    std::string problem;
    sim::parse_faults(name, problem);
    EXPECT_EQ(problem, "");
    sim::parse_faults(name + "x:3", problem);
    EXPECT_NE(problem, "") << name << "x";
  }
}

}  // namespace
}  // namespace lockstep::test
