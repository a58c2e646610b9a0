// Steps of a custom loop that fail: no replica gets the result of an earlier round, and what comes next is not taken for the rest of them.
#include <gtest/gtest.h>

#include <atomic>
#include <utility>

#include "engine/distribute/collectives/reduction_to_one_device.h"
#include "engine/distribute/step/mirrored_step.h"
#include "engine/optim/adam.h"
#include "lockstep/error.h"
#include "lockstep/strategy.h"
#include "tests/engine/distribute/support/gpus.h"
#include "tests/engine/distribute/support/model.h"

namespace lockstep {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): GPUs and models made for these tests

TEST(CustomStepFailures, ASumThatCannotBeMadeIsReturnedToNoReplica) {
  const std::vector<GpuId> all = logical_ids();
  const MirroredStrategy strategy(std::vector<GpuId>(all.begin(), all.begin() + 4));
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> sums{0}, failures{0};
    EXPECT_THROW(strategy.run([&](ReplicaContext& context) {
      context.all_reduce(ReduceOp::sum, Array(Shape{2}));  // what would be stale in the next round
      const std::int64_t size = context.replica_id_in_sync_group() == 3 ? 5 : 2;
      try {
        context.all_reduce(ReduceOp::sum, Array(Shape{size}));
        ++sums;
      } catch (const Error&) {
        ++failures;
        throw;
      }
    }),
                 Error);
    EXPECT_EQ(sums, 0);
    EXPECT_EQ(failures, 4);
  }
}

struct FailsOnce : ReductionToOneDeviceOps {
  Traffic all_reduce(const std::vector<Participant>& participants) override {
    if (std::exchange(armed, false)) throw Error("the link is down");
    return ReductionToOneDeviceOps::all_reduce(participants);
  }
  bool armed = true;
};

TEST(CustomStepFailures, AStepAfterAFailedOneIsAWholeStep) {
  const Gpus gpus = logical_gpus(2);
  MirroredStep step(small_graph(), gpus.pointers, std::make_shared<FailsOnce>(), {}, nullptr);
  step.set_training(make_loss("sparse_categorical_crossentropy"), std::make_shared<AdamImpl>(1e-3F, 0.9F, 0.999F, 1e-7F), {});
  initialize(step.replica(0), 3);
  const auto share = [](int replica) { return random_samples({6, 6, 1}, 4, static_cast<std::uint32_t>(replica)); };
  for (int r = 0; r < 2; ++r) {
    step.forward(r, share(r));
    step.backward(r, labels(4, 3, 1), 8);
  }
  EXPECT_THROW(step.apply_gradients(), Error);
  EXPECT_THROW(step.apply_gradients(), Error) << "those gradients are gone";
  EXPECT_EQ(step.iterations(), 0);
  step.train(random_samples({6, 6, 1}, 8, 1), labels(8, 3, 1));
  EXPECT_EQ(step.iterations(), 1);
  EXPECT_EQ(step.times()[0].steps, 1) << "it was taken for a step of the custom loop";
  EXPECT_EQ(step.times()[0].samples, 4);
}

// The same where forward failed, and the loop went on with train.
TEST(CustomStepFailures, TrainAfterAFailedForwardIsAWholeStep) {
  const Gpus gpus = logical_gpus(2);
  const auto ops = std::make_shared<FailsOnce>();
  ops->armed = false;
  MirroredStep step(small_graph(), gpus.pointers, ops, {}, nullptr);
  step.set_training(make_loss("sparse_categorical_crossentropy"), std::make_shared<AdamImpl>(1e-3F, 0.9F, 0.999F, 1e-7F), {});
  initialize(step.replica(0), 3);
  step.forward(0, random_samples({6, 6, 1}, 4, 1));
  EXPECT_THROW(step.forward(1, random_samples({5, 5, 1}, 4, 1)), Error);
  step.train(random_samples({6, 6, 1}, 8, 1), labels(8, 3, 1));
  EXPECT_EQ(step.times()[0].steps, 1);
}

}  // namespace
}  // namespace lockstep
