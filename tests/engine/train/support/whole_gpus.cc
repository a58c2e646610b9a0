// Every test begins with whole GPUs, whatever the one before it split.
#include <gtest/gtest.h>

#include "simulator/logical/gpu_registry.h"

namespace {

class WholeGpus : public ::testing::EmptyTestEventListener {
  void OnTestStart(const ::testing::TestInfo& /*test*/) override { lockstep::forget_splits(); }
};

[[maybe_unused]] const bool installed = [] {
  ::testing::UnitTest::GetInstance()->listeners().Append(std::make_unique<WholeGpus>().release());  // gtest owns it
  return true;
}();

}  // namespace
