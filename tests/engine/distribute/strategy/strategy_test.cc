// Strategies: names, refusals, scopes.
#include "lockstep/strategy.h"

#include <gtest/gtest.h>

#include <thread>

#include "lockstep/error.h"
#include "tests/engine/distribute/support/gpus.h"
#include "tests/support/error_of.h"

namespace lockstep {
namespace {

TEST(Strategy, MirroredOnNamedGpus) {
  if (list_gpus().size() < 2) GTEST_SKIP() << "fewer cards here";
  const MirroredStrategy strategy({"/gpu:0", "/gpu:1"});
  EXPECT_EQ(strategy.num_replicas_in_sync(), 2);
  EXPECT_EQ(strategy.cross_device_ops(), "nccl");
  EXPECT_NE(strategy.describe().find("/gpu:0, /gpu:1"), std::string::npos) << strategy.describe();
  EXPECT_EQ(MirroredStrategy({"/gpu:0", "/gpu:1"}, RingAllReduce()).cross_device_ops(), "ring");
}

TEST(Strategy, AGpuGivenTwiceIsRefused) {
  EXPECT_NE(error_of([] {
              const MirroredStrategy strategy(std::vector<std::string>{"/gpu:0", "gpu:0"});
            }).find("twice"),
            std::string::npos);
}

TEST(Strategy, AnUnknownGpuIsRefusedWithTheOnesThereAre) {
  EXPECT_NE(error_of([] { const MirroredStrategy strategy({"/gpu:0", "/gpu:99"}); }).find("99"), std::string::npos);
  GpuId unknown;
  unknown.physical = 99;
  const std::string text = error_of([&] { const MirroredStrategy strategy(std::vector<GpuId>{GpuId{}, unknown}); });
  EXPECT_NE(text.find("/gpu:99"), std::string::npos) << text;
  EXPECT_NE(text.find("/gpu:0"), std::string::npos) << text;
}

TEST(Strategy, NcclAmongLogicalGpusOfOneCardIsRefusedAtOnce) {
  const std::vector<GpuId> ids = testing::logical_ids();
  EXPECT_NE(error_of([&] { const MirroredStrategy strategy(std::vector<GpuId>{ids[0], ids[1]}, NcclAllReduce()); }), "");
  const MirroredStrategy chosen(std::vector<GpuId>{ids[0], ids[1]});
  EXPECT_NE(chosen.cross_device_ops(), "nccl");
}

TEST(Strategy, ScopesNestAndEndAndBelongToTheirThread) {
  const std::vector<GpuId> ids = testing::logical_ids();
  const MirroredStrategy two(std::vector<GpuId>{ids[0], ids[1]});
  const MirroredStrategy three(std::vector<GpuId>{ids[0], ids[1], ids[2]});
  EXPECT_EQ(Strategy::current().num_replicas_in_sync(), 1);
  two.scope([&] {
    EXPECT_EQ(Strategy::current().impl(), two.impl());
    three.scope([&] { EXPECT_EQ(Strategy::current().impl(), three.impl()); });
    EXPECT_EQ(Strategy::current().impl(), two.impl());
    std::thread([&] { EXPECT_EQ(Strategy::current().num_replicas_in_sync(), 1); }).join();
  });
  EXPECT_EQ(Strategy::current().num_replicas_in_sync(), 1);
  EXPECT_THROW(two.scope([]() -> int { throw Error("inside"); }), Error);
  EXPECT_EQ(Strategy::current().num_replicas_in_sync(), 1);
}

TEST(Strategy, OutsideAnyScopeTheDefaultIsSharedWhileAHandleExists) {
  const Strategy one = Strategy::current();
  EXPECT_EQ(Strategy::current().impl(), one.impl());
}

}  // namespace
}  // namespace lockstep
