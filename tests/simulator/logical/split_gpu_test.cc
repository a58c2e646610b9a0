// The rules of splitting a GPU, and names.
#include <gtest/gtest.h>

#include "lockstep/error.h"
#include "simulator/logical/gpu_registry.h"
#include "simulator/logical/logical_gpu.h"

namespace lockstep::testing {

namespace {

class SplitGpu : public ::testing::Test {
 protected:
  SplitGpu() { forget_splits(); }
  ~SplitGpu() override { forget_splits(); }

  static std::string refusal(const std::vector<std::int64_t>& limits, int gpu = 0) {
    try {
      split_gpu(gpu, limits);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
};

TEST_F(SplitGpu, MakesLogicalGpusWithTheirLimits) {
  const auto gpus = split_gpu(0, {256, 512});
  ASSERT_EQ(gpus.size(), 2U);
  EXPECT_EQ(gpus[1].name(), "/gpu:0/logical:1");
  LogicalGpu second(gpus[1]);
  EXPECT_EQ(second.arena().limit(), std::size_t{512} << 20);
  LogicalGpu by_name(parse_gpu("/gpu:0/logical:0"));
  EXPECT_EQ(by_name.arena().limit(), std::size_t{256} << 20);
}

TEST_F(SplitGpu, IsRefusedOnceTheGpuIsInUse) {
  const LogicalGpu whole(GpuId{});
  EXPECT_EQ(refusal({256}), "GPU 0 is already in use: split it before the first model or strategy is made on it.");
}

TEST_F(SplitGpu, IsAllowedAgainAfterTheLastUserIsGone) {
  { const LogicalGpu whole(GpuId{}); }
  EXPECT_EQ(refusal({256}), "");
}

TEST_F(SplitGpu, IsDoneOnce) {
  split_gpu(0, {256, 256});
  EXPECT_EQ(refusal({256}), "GPU 0 was already split into 2 logical GPUs; a GPU is split once.");
}

TEST_F(SplitGpu, AskedForAgainIsTheSameSplit) {
  const std::vector<GpuId> gpus = split_gpu(0, {256, 512});
  const LogicalGpu user(gpus[0]);
  EXPECT_EQ(split_gpu(0, {256, 512})[1].name(), gpus[1].name());
  EXPECT_NE(refusal({512, 256}), "");
}

TEST_F(SplitGpu, CannotGiveMoreThanTheGpuHas) {
  EXPECT_NE(refusal({std::int64_t{1} << 40}).find("add up to more than GPU 0 has"), std::string::npos);
  EXPECT_NE(refusal({256, std::int64_t{1} << 30}).find("add up to more than GPU 0 has"), std::string::npos);
}

TEST_F(SplitGpu, NeedsPositiveLimits) {
  EXPECT_NE(refusal({}), "");
  EXPECT_NE(refusal({256, 0}), "");
  EXPECT_NE(refusal({-1}), "");
}

TEST_F(SplitGpu, NeedsAGpuThatExists) { EXPECT_NE(refusal({256}, 99).find("There is no GPU 99"), std::string::npos); }

TEST_F(SplitGpu, ASplitGpuIsNotUsedWhole) {
  split_gpu(0, {256, 256});
  try {
    const LogicalGpu whole(GpuId{});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "GPU 0 was split into 2 logical GPUs: use /gpu:0/logical:0 to /gpu:0/logical:1, not the whole of it.");
  }
}

TEST_F(SplitGpu, ALogicalGpuMustHaveBeenMade) {
  EXPECT_THROW(LogicalGpu(GpuId{0, 0, 256}), Error);
  split_gpu(0, {256});
  EXPECT_THROW(LogicalGpu(GpuId{0, 1, 256}), Error);
}

TEST_F(SplitGpu, ObjectsOfOneLogicalGpuShareItsLimit) {
  const auto gpus = split_gpu(0, {16});
  LogicalGpu one(gpus[0]);
  LogicalGpu other(gpus[0]);
  const Buffer held = one.arena().allocate(std::size_t{12} << 20, "one");
  EXPECT_THROW(other.arena().allocate(std::size_t{12} << 20, "other"), Error);
}

TEST_F(SplitGpu, SplitsAreNotForgottenWhileInUse) {
  const auto gpus = split_gpu(0, {16});
  const auto claim = claim_gpu(gpus[0]);
  EXPECT_THROW(forget_splits(), Error);
}

TEST_F(SplitGpu, NamesAreRead) {
  for (const char* name : {"/gpu:0", "gpu:0", "GPU:0", "0"}) EXPECT_EQ(parse_gpu(name).name(), "/gpu:0") << name;
  for (const char* name : {"", "gpu", "gpu:", "/gpu:x", "/gpu:-1", "0x", "/gpu:0/logical:", "/gpu:0/logical:0", "/gpu:77", "cpu:0"}) {
    EXPECT_THROW(parse_gpu(name), Error) << name;
  }
}

TEST_F(SplitGpu, ListsPhysicalGpus) {
  const auto gpus = list_gpus();
  ASSERT_FALSE(gpus.empty());
  EXPECT_EQ(gpus[0].name(), "/gpu:0");
}

}  // namespace

}  // namespace lockstep::testing
