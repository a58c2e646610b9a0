// Machines and the environment.
#include "simulator/gpu/runtime/config.h"

#include <cstdlib>

#include "tests/simulator/gpu/runtime/support/gpu_test.h"

namespace lockstep::test {
namespace {

// Sets a variable for a scope.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name), before_(std::getenv(name) ? std::getenv(name) : "") {
    setenv(name, value, 1);
  }
  ~Variable() {
    if (before_.empty()) {
      unsetenv(name_);
    } else {
      setenv(name_, before_.c_str(), 1);
    }
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::string before_;
};

TEST(ConfigTest, MachinesAreKnownByName) {
  const std::pair<const char*, int> machines[] = {{"t4", 1}, {"4xt4", 4}, {"a100x8", 8}, {"h100x8", 8}};
  const std::size_t gigabytes[] = {15, 15, 40, 80};
  for (int i = 0; i < 4; ++i) {
    const Variable machine("LOCKSTEP_SIM_MACHINE", machines[i].first);
    const sim::Config config = sim::read_config();
    EXPECT_EQ(config.problem, "");
    EXPECT_EQ(config.machine.gpus, machines[i].second);
    EXPECT_EQ(config.machine.memory_bytes, gigabytes[i] << 30);
  }
}

TEST(ConfigTest, EnvironmentOverrides) {
  const Variable gpus("LOCKSTEP_SIM_GPUS", "3"), workers("LOCKSTEP_SIM_WORKERS", "7"), seed("LOCKSTEP_SIM_SEED", "12"),
      kernels("LOCKSTEP_SIM_KERNELS", "faithful"), check("LOCKSTEP_SIM_CHECK", "1");
  const sim::Config config = sim::read_config();
  EXPECT_EQ(config.problem, "");
  EXPECT_EQ(config.machine.gpus, 3);
  EXPECT_EQ(config.workers, 7);
  EXPECT_EQ(config.seed, 12U);
  EXPECT_EQ(config.kernels, sim::KernelMode::faithful);
  EXPECT_TRUE(config.check.memory && config.check.race && config.check.deadlock);
}

TEST(ConfigTest, ChecksAreChosenByName) {
  for (const char* text : {"memory", "race", "deadlock", "deadlock,memory", "0"}) {
    const Variable check("LOCKSTEP_SIM_CHECK", text);
    const sim::Config config = sim::read_config();
    const auto names = [&](const char* word) { return std::string(text).find(word) != std::string::npos; };
    EXPECT_EQ(config.problem, "");
    EXPECT_EQ(config.check.memory, names("memory")) << text;
    EXPECT_EQ(config.check.race, names("race")) << text;
    EXPECT_EQ(config.check.deadlock, names("deadlock")) << text;
  }
  const Variable check("LOCKSTEP_SIM_CHECK", "");
  EXPECT_FALSE(sim::read_config().check);
}

TEST(ConfigTest, WhatIsNotUnderstoodIsNamed) {
  const std::pair<const char*, const char*> bad[] = {{"LOCKSTEP_SIM_MACHINE", "abacus"},   {"LOCKSTEP_SIM_GPUS", "-1"},
                                                     {"LOCKSTEP_SIM_WORKERS", "0"},        {"LOCKSTEP_SIM_WORKERS", "two"},
                                                     {"LOCKSTEP_SIM_SEED", "1.5"},         {"LOCKSTEP_SIM_KERNELS", "slow"},
                                                     {"LOCKSTEP_SIM_CHECK", "memory,rice"}};
  for (const auto& [name, value] : bad) {
    const Variable variable(name, value);
    const std::string problem = sim::read_config().problem;
    EXPECT_NE(problem.find(std::string(name) + "=" + value), std::string::npos) << problem;
  }
}

TEST(ConfigTest, DevicesShowTheMachine) {
  int count = 0;
  ASSERT_CUDA(cudaGetDeviceCount(&count));
  ASSERT_EQ(count, 4);
  cudaDeviceProp properties{};
  ASSERT_CUDA(cudaGetDeviceProperties(&properties, 3));
  EXPECT_STREQ(properties.name, "Virtual T4");
  EXPECT_EQ(properties.totalGlobalMem, std::size_t{15} << 30);
  EXPECT_EQ(properties.major * 10 + properties.minor, 75);
  EXPECT_EQ(properties.warpSize, 32);
  int driver = 0, runtime = 0;
  EXPECT_CUDA(cudaDriverGetVersion(&driver));
  EXPECT_CUDA(cudaRuntimeGetVersion(&runtime));
  EXPECT_EQ(driver, CUDART_VERSION);
  EXPECT_EQ(runtime, CUDART_VERSION);
}

TEST(ConfigTest, PartsFollowFromCostAlone) {
  EXPECT_EQ(sim::parts_for({}), 1);
  EXPECT_EQ(sim::parts_for({.flops = 10, .bytes = 100}), 1);
  EXPECT_EQ(sim::parts_for({.flops = 1e12, .bytes = 0}), 4);
  EXPECT_EQ(sim::parts_for({.flops = 0, .bytes = 1e12}), 4);
}

}  // namespace
}  // namespace lockstep::test
