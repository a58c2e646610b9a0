// Phases 1, 4 and 5 on the reference models: what is copied to each replica, that each gets the sum, that each makes its update; as the
// engine counts it while it issues the work, and as the trace tells it.
#include <gtest/gtest.h>

#include <iostream>
#include <random>
#include <set>

#include "engine/distribute/step/mirrored_step.h"
#include "engine/optim/optimizer.h"
#include "engine/train/model_impl.h"
#include "lockstep/applications.h"
#include "lockstep/layers.h"
#include "lockstep/sequence_layers.h"
#include "simulator/trace/trace.h"
#include "tests/engine/distribute/support/gpus.h"
#include "tests/engine/distribute/support/model.h"

namespace lockstep {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): GPUs and models made for these tests

constexpr std::int64_t kSteps = 2;

struct Case {
  const char* name;
  Model (*make)();
  Shape sample;
  std::int32_t classes;
  std::int64_t batch;
  const char* optimizer;
  int words;  // how many there are; 0: the samples are floats
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"mnist",
       []() -> Model {
         return Sequential({Conv2D(32, 3, "relu"), MaxPooling2D(2), Flatten(), Dense(128, "relu"), Dense(10)});
       },
       Shape{28, 28, 1}, 10, 16, "adam", 0},
      {"reuters",
       []() -> Model {
         return Sequential(
             {Embedding(30982, 7), Conv1D(64, 5, "relu"), MaxPooling1D(2), Conv1D(32, 3, "relu"), MaxPooling1D(2), Flatten(), Dense(46)});
       },
       Shape{300}, 46, 12, "nadam", 30982},
      {"mobilenet-v2",
       [] {
         return applications::MobileNetV2(applications::MobileNetV2Options().alpha(0.35F).input_shape({96, 96, 3}).classes(2));
       },
       Shape{96, 96, 3}, 2, 8, "adam", 0},
  };
  return all;
}

Array samples(const Case& what, std::uint32_t seed) {
  std::mt19937 random(seed);
  Array x(what.sample.batched(what.batch), what.words > 0 ? DType::int32 : DType::float32);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    if (what.words > 0)
      x.data<std::int32_t>()[i] = static_cast<std::int32_t>(random() % static_cast<unsigned>(what.words));
    else
      x.data<float>()[i] = static_cast<float>(random() % 256) / 255.0F;
  }
  return x;
}

// Bytes of the sum of one step: every gradient and moving statistic; of an embedding's table the rows that the batch names.
std::int64_t sum_bytes(const VariableLayout& layout, const Case& what, const Array& x) {
  std::int64_t elements = layout.trainable_elements() + layout.moving_elements();
  if (what.words > 0) {
    const int table = layout.ready_order().back();  // the first layer's
    const auto* ids = x.data<std::int32_t>();
    const auto rows = static_cast<std::int64_t>(std::set<std::int32_t>(ids, ids + x.size()).size());
    elements += rows * layout.specs()[static_cast<std::size_t>(table)].shape[-1] - (layout.trainable_elements() - layout.offset(table));
  }
  return elements * 4;
}

std::int64_t number(const Span& span, const char* key) {
  const std::string* text = span.detail(key);
  return text != nullptr ? std::stoll(*text) : -1;
}

class PhasesAreReal : public ::testing::TestWithParam<std::tuple<std::size_t, int>> {};

TEST_P(PhasesAreReal, OnEveryReplica) {
  const Case& what = cases().at(std::get<0>(GetParam()));
  const int replicas = std::get<1>(GetParam());
  Model model = what.make();
  model.build(what.sample);
  const Gpus gpus = logical_gpus(replicas);
  const std::string algorithm = choose_cross_device_ops(
      [&] {
        std::vector<GpuId> ids = logical_ids();
        ids.resize(static_cast<std::size_t>(replicas));
        return ids;
      }(),
      nullptr);
  Tracer tracer;
  MirroredStep step(*model.impl()->graph, gpus.pointers, make_cross_device_ops(algorithm), {}, &tracer);
  step.set_training(make_loss("sparse_categorical_crossentropy"), make_optimizer(what.optimizer), {});
  initialize(step.replica(0), 3);
  const VariableLayout& layout = step.replica(0).variables().layout();
  std::int64_t summed = 0;
  for (std::uint32_t k = 0; k < kSteps; ++k) {
    const Array x = samples(what, k + 1);
    summed += sum_bytes(layout, what, x);
    step.train(x, labels(what.batch, what.classes, k));
  }

  const int slots = step.replica(0).variables().slots();
  ASSERT_GE(slots, 2);
  const std::int64_t copied = 4 * (layout.trainable_elements() * (1 + slots) + layout.state_elements());
  std::set<const void*> memory;
  for (int r = 0; r < replicas; ++r) {
    const std::string where = std::string(what.name) + ", replica " + std::to_string(r) + " of " + std::to_string(replicas);
    const ReplicaTimes counted = step.times()[static_cast<std::size_t>(r)];
    EXPECT_EQ(counted.replications, 1) << where;
    EXPECT_EQ(counted.replicated_bytes, r == 0 ? 0 : copied) << where;
    EXPECT_EQ(counted.summed_bytes, summed) << where;
    EXPECT_EQ(counted.updates, kSteps) << where;

    std::int64_t traced_copies = 0, traced_sums = 0, traced_updates = 0;
    for (const Span& span : tracer.spans()) {
      if (span.replica != r || span.depth != 0) continue;
      if (span.phase == Phase::replicate) traced_copies += std::max<std::int64_t>(0, number(span, "bytes"));
      if (span.phase == Phase::all_reduce) traced_sums += std::max<std::int64_t>(0, number(span, "bytes of the sum here"));
      if (span.phase == Phase::update) traced_updates += span.detail("optimizer") != nullptr ? 1 : 0;
    }
    EXPECT_EQ(traced_copies, r == 0 ? 0 : copied) << where;
    EXPECT_EQ(traced_sums, summed) << where;
    EXPECT_EQ(traced_updates, kSteps) << where;

    const VariableStore& own = step.replica(r).variables();
    memory.insert(own.weights().raw());
    memory.insert(own.gradients().raw());
    for (int k = 0; k < slots; ++k) memory.insert(own.slot(k).raw());
    if (layout.state_elements() > 0) memory.insert(own.state().raw());
  }
  const int buffers = 2 + slots + (layout.state_elements() > 0 ? 1 : 0);
  EXPECT_EQ(memory.size(), static_cast<std::size_t>(replicas * buffers)) << "replicas share memory";
  const std::vector<std::uint64_t> sums = step.checksums();
  EXPECT_EQ(sums.size(), static_cast<std::size_t>(replicas));
  for (const std::uint64_t sum : sums) EXPECT_EQ(sum, sums.front());
  std::cout << what.name << " on " << replicas << " replicas: " << copied << " bytes to each of " << replicas - 1 << ", the sum of "
            << summed / kSteps << " bytes on " << replicas << ", " << replicas << " updates a step\n";
}

INSTANTIATE_TEST_SUITE_P(Workloads, PhasesAreReal, ::testing::Combine(::testing::Values(0, 1, 2), ::testing::Values(2, 4, 8)),
                         [](const auto& test) {
                           std::string name = cases()[std::get<0>(test.param)].name + ("_x" + std::to_string(std::get<1>(test.param)));
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace lockstep
