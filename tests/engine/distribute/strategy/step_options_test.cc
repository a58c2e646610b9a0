// The options of steps: what the environment may say, and that a strategy hands them to its models.
#include "lockstep/step_options.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "lockstep/lockstep.h"

namespace lockstep {
namespace {

class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~Environment() { ::unsetenv(name_); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
};

TEST(StepOptions, AreTheDefaultsWhereTheEnvironmentIsEmpty) {
  const StepOptions options = step_options_from_environment();
  EXPECT_TRUE(options.overlap);
  EXPECT_FALSE(options.graphs);
  EXPECT_FALSE(options.check_mirrored);
  EXPECT_FALSE(options.flipped_bit.has_value());
  EXPECT_EQ(options.bucket_bytes, 4 << 20);
  EXPECT_EQ(options.first_bucket_bytes, 1 << 20);
}

TEST(StepOptions, AreReadFromTheEnvironment) {
  const Environment graphs("LOCKSTEP_GRAPHS", "on"), overlap("LOCKSTEP_OVERLAP", "off"), bucket("LOCKSTEP_BUCKET_MIB", "0.5"),
      deadline("LOCKSTEP_DEADLINE", "7"), bit("LOCKSTEP_FLIP_BIT", "replica=1,variable=dense/kernel,step=3");
  const StepOptions options = step_options_from_environment();
  EXPECT_FALSE(options.overlap);
  EXPECT_TRUE(options.graphs);
  EXPECT_EQ(options.bucket_bytes, 512 << 10);
  EXPECT_EQ(options.first_bucket_bytes, 512 << 10);
  EXPECT_EQ(options.deadline_seconds, 7);
  ASSERT_TRUE(options.flipped_bit.has_value());
  EXPECT_EQ(options.flipped_bit->variable, "dense/kernel");
}

TEST(StepOptions, RefuseOtherWords) {
  for (const auto& [name, value] : {std::pair{"LOCKSTEP_GRAPHS", "perhaps"},
                                    {"LOCKSTEP_OVERLAP", "1"},
                                    {"LOCKSTEP_BUCKET_MIB", "0"},
                                    {"LOCKSTEP_BUCKET_MIB", "4 MiB"},
                                    {"LOCKSTEP_DEADLINE", "-1"},
                                    {"LOCKSTEP_FLIP_BIT", "replica=1"}}) {
    const Environment environment(name, value);
    try {
      step_options_from_environment();
      ADD_FAILURE() << name << "=" << value;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
    }
  }
}

// The environment is read when a strategy is made, and not again.
TEST(StepOptions, BelongToTheStrategy) {
  const OneDeviceStrategy before;
  const Environment graphs("LOCKSTEP_GRAPHS", "on");
  EXPECT_FALSE(before.step_options().graphs);
  const OneDeviceStrategy strategy;
  EXPECT_TRUE(strategy.step_options().graphs);
  StepOptions options = strategy.step_options();
  options.bucket_bytes = 123;
  strategy.set_step_options(options);
  EXPECT_EQ(strategy.step_options().bucket_bytes, 123);
}

}  // namespace
}  // namespace lockstep
