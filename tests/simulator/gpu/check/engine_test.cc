// The engine in check mode: training steps of MNIST's model with every way to sum over replicas, and not one report.
#include <gtest/gtest.h>

#include "engine/distribute/collectives/cross_device_ops.h"
#include "engine/distribute/step/mirrored_step.h"
#include "engine/optim/adam.h"
#include "lockstep/layers.h"
#include "simulator/gpu/check/reports.h"
#include "simulator/gpu/runtime/control.h"
#include "tests/engine/distribute/support/gpus.h"
#include "tests/engine/distribute/support/model.h"

namespace lockstep {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): GPUs and models made for these tests

class EngineInCheckMode : public ::testing::TestWithParam<std::tuple<std::string, bool, std::uint64_t>> {};

TEST_P(EngineInCheckMode, TrainsWithoutAReport) {
  const auto& [algorithm, cards, seed] = GetParam();
  sim::clear_check_reports();
  sim::set_schedule_seed(seed);
  {
    Gpus gpus = cards ? whole_cards(2) : logical_gpus(algorithm == "one-copy" ? 4 : 2);
    StepOptions options;
    options.check_mirrored = algorithm != "one-copy";  // which has no copies to compare
    options.first_bucket_bytes = 4096;                 // several buckets, so that communication overlaps with the backward pass
    options.bucket_bytes = 256 << 10;
    MirroredStep step(mnist_graph(), gpus.pointers, make_cross_device_ops(algorithm), options, nullptr);
    step.set_training(make_loss("sparse_categorical_crossentropy"), std::make_shared<AdamImpl>(1e-3F, 0.9F, 0.999F, 1e-7F),
                      {make_metric("accuracy")});
    initialize(step.replica(0), 1);
    step.replicate();
    for (std::uint32_t k = 0; k < 3; ++k) {
      const std::int64_t batch = k == 2 ? 3 : 8;  // the last one smaller and uneven
      step.train(random_samples({28, 28, 1}, batch, k), labels(batch, 10, k));
    }
    step.evaluate(random_samples({28, 28, 1}, 5, 9), labels(5, 10, 9));
    EXPECT_EQ(step.predict(random_samples({28, 28, 1}, 5, 9)).shape()[0], 5);
    EXPECT_EQ(step.iterations(), 3);
    EXPECT_EQ(step.totals().samples, 24);
  }
  sim::set_schedule_seed(0);
  for (const std::string& text : sim::check_reports()) ADD_FAILURE() << text;
  sim::clear_device_errors();
}

std::vector<std::tuple<std::string, bool, std::uint64_t>> combinations() {
  std::vector<std::tuple<std::string, bool, std::uint64_t>> all;
  for (const std::string& name : cross_device_ops_names()) {
    for (const bool cards : {false, true}) {
      if (name == (cards ? "one-copy" : "nccl")) continue;  // each refuses the other's GPUs
      all.emplace_back(name, cards, 0);
      if (name == "nccl" || !cards) all.emplace_back(name, cards, 7);
    }
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(CrossDeviceOps, EngineInCheckMode, ::testing::ValuesIn(combinations()), [](const auto& test) {
  std::string name =
      std::get<0>(test.param) + (std::get<1>(test.param) ? "_cards" : "_logical") + (std::get<2>(test.param) ? "_seeded" : "");
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
});

}  // namespace
}  // namespace lockstep
