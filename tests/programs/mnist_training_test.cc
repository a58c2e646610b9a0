// Real training on the real files: five epochs on every arrangement of GPUs that the design names.
#include <gtest/gtest.h>

#include <cstdlib>

#include "lockstep/lockstep.h"

namespace lockstep {
namespace {

struct Arrangement {
  const char* name;
  int cards;
  int logical;  // of the first card; 0: whole cards
};

void PrintTo(const Arrangement& arrangement, std::ostream* out) { *out << arrangement.name; }

class MnistTraining : public ::testing::TestWithParam<Arrangement> {};

// TensorFlow, three seeds: 98.39 to 98.60 %.
constexpr double kWanted = 0.983;

TEST_P(MnistTraining, FiveEpochsReachTensorFlowsAccuracyWithReplicasBitIdentical) {
  if (!std::getenv("LOCKSTEP_DATA")) GTEST_SKIP() << "skipped: LOCKSTEP_DATA does not name a folder with MNIST";
  const Arrangement& arrangement = GetParam();
  setenv("LOCKSTEP_SIM_GPUS", std::to_string(arrangement.cards).c_str(), 1);
  const Mnist data = load_mnist();
  ASSERT_FALSE(data.drawn);
  const Strategy strategy =
      arrangement.logical > 0
          ? MirroredStrategy(split_gpu(0, std::vector<std::int64_t>(static_cast<std::size_t>(arrangement.logical), 512)))
          : MirroredStrategy(list_gpus(), NcclAllReduce());
  const int replicas = strategy.num_replicas_in_sync();
  Model model = strategy.scope([]() -> Model {
    Sequential made({Conv2D(32, 3, "relu"), MaxPooling2D(2), Flatten(), Dense(128, "relu"), Dense(10)});
    made.set_seed(1);
    made.compile(Adam(1e-3F), SparseCategoricalCrossentropy().from_logits(), {"accuracy"});
    made.check_mirrored(true);  // after every barrier
    return made;
  });
  const History history =
      model.fit(data.x_train, data.y_train,
                FitOptions().epochs(5).batch_size(64 * replicas).seed(1).validation(data.x_test, data.y_test).verbose(Verbose::line));
  RecordProperty("val_accuracy", std::to_string(history.last("val_accuracy")));
  EXPECT_GE(history.last("val_accuracy"), kWanted);
  const auto sums = model.checksums();
  ASSERT_EQ(sums.size(), static_cast<std::size_t>(replicas));
  for (const std::uint64_t sum : sums) EXPECT_EQ(sum, sums.front());
}

INSTANTIATE_TEST_SUITE_P(Arrangements, MnistTraining,
                         ::testing::Values(Arrangement{"one_logical_gpu", 1, 1}, Arrangement{"two_logical_gpus", 1, 2},
                                           Arrangement{"four_logical_gpus", 1, 4}, Arrangement{"two_cards_with_nccl", 2, 0}),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace lockstep
