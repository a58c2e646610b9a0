// Whatever order the virtual GPU picks among what may run next, a step's bits are the same.
#include <gtest/gtest.h>

#include "engine/distribute/step/mirrored_step.h"
#include "engine/optim/adam.h"
#include "lockstep/error.h"
#include "simulator/gpu/runtime/control.h"
#include "tests/engine/distribute/support/gpus.h"
#include "tests/engine/distribute/support/model.h"

namespace lockstep {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): GPUs and models made for these tests

std::vector<float> weights_after_a_step(const std::string& algorithm, int replicas, std::uint64_t seed) {
  sim::set_schedule_seed(seed);
  std::vector<float> result;
  {
    const Gpus gpus = algorithm == "nccl" ? whole_cards(replicas) : logical_gpus(replicas);
    StepOptions options;
    options.check_mirrored = algorithm != "one-copy";  // which has no copies to compare
    options.first_bucket_bytes = 1024;
    MirroredStep step(mnist_graph(), gpus.pointers, make_cross_device_ops(algorithm), options, nullptr);
    step.set_training(make_loss("sparse_categorical_crossentropy"), std::make_shared<AdamImpl>(1e-3F, 0.9F, 0.999F, 1e-7F),
                      {make_metric("accuracy")});
    initialize(step.replica(0), 3);
    step.train(random_samples({28, 28, 1}, 7, 1), labels(7, 10, 1));
    result = download(step.replica(replicas - 1), step.replica(replicas - 1).variables().weights());
  }
  sim::set_schedule_seed(0);
  return result;
}

class Schedules : public ::testing::TestWithParam<std::string> {};

TEST_P(Schedules, FiftyInterleavingsOfATrainingStepHaveTheSameBits) {
  const std::vector<float> expected = weights_after_a_step(GetParam(), 3, 0);
  for (std::uint64_t seed = 1; seed <= 50; ++seed) ASSERT_EQ(weights_after_a_step(GetParam(), 3, seed), expected) << "seed " << seed;
}

INSTANTIATE_TEST_SUITE_P(EveryAlgorithm, Schedules, ::testing::ValuesIn(cross_device_ops_names()), [](const auto& test) {
  std::string name = test.param;
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
});

}  // namespace
}  // namespace lockstep
