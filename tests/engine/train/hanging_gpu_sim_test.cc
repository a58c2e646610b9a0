// A GPU that never answers: the error comes within the deadline, and so does the end of everything that was made.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "lockstep/lockstep.h"
#include "simulator/gpu/runtime/faults.h"

namespace lockstep {
namespace {

// In a process of its own, because what the GPU may still use stays until the process ends.
int train_on_a_gpu_that_hangs(const char* fault) {
  setenv("LOCKSTEP_DEADLINE", "1", 1);
  alarm(60);
  bool said = false;
  {
    const Strategy strategy = MirroredStrategy(split_gpu(0, std::vector<std::int64_t>(2, 64)));
    Model model = strategy.scope([]() -> Model {
      Sequential made({Dense(8, "relu"), Dense(3)});
      made.compile(Adam(), SparseCategoricalCrossentropy().from_logits(), {"accuracy"});
      return made;
    });
    const Array x(Shape{32, 4}), y(Shape{32}, DType::int32);
    model.train_on_batch(x, y);
    sim::arm_faults(fault);
    try {
      model.fit(x, y, FitOptions().batch_size(8).epochs(20).verbose(Verbose::silent).trace(Trace(), TraceOptions().steps(3)));
    } catch (const Error& error) {
      said = std::string(error.what()).find("had not finished") != std::string::npos;
    }
  }
  return said ? 0 : 1;
}

TEST(HangingGpuDeathTest, TheModelAndItsStrategyGoInTime) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(std::exit(train_on_a_gpu_that_hangs("operation:40:hang")), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(std::exit(train_on_a_gpu_that_hangs("operation:301:hang")), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace lockstep
