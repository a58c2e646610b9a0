// What a profiler hears of a step: the six phases, what lies in them, on the threads where it happens.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "engine/distribute/step/mirrored_step.h"
#include "engine/optim/adam.h"
#include "simulator/gpu/nvtx/nvtx_listener.h"
#include "tests/engine/distribute/support/gpus.h"
#include "tests/engine/distribute/support/model.h"

namespace lockstep {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): GPUs and models made for these tests

// Before anything makes a range: a tool that comes later hears nothing.
const bool listening = (sim::attach_nvtx_listener(), true);

constexpr int kReplicas = 3;

struct Heard {
  std::vector<sim::NvtxRange> ranges;

  std::vector<sim::NvtxRange> named(const std::string& name) const {
    std::vector<sim::NvtxRange> found;
    for (const sim::NvtxRange& range : ranges)
      if (range.domain == "lockstep" && range.name == name) found.push_back(range);
    return found;
  }
  // Whether some range of this name, on the same thread, holds it.
  bool inside(const sim::NvtxRange& inner, const std::string& name) const {
    const std::vector<sim::NvtxRange> outer = named(name);
    return std::any_of(outer.begin(), outer.end(), [&](const sim::NvtxRange& one) {
      return one.thread == inner.thread && one.depth < inner.depth && one.begin_ns <= inner.begin_ns && one.end_ns >= inner.end_ns;
    });
  }
};

Heard heard_of_a_step() {
  Gpus gpus = logical_gpus(kReplicas);
  StepOptions options;
  options.first_bucket_bytes = options.bucket_bytes = 256;
  MirroredStep step(small_graph(), gpus.pointers, make_cross_device_ops("ring"), options, nullptr);
  step.set_training(make_loss("sparse_categorical_crossentropy"), std::make_shared<AdamImpl>(1e-3F, 0.9F, 0.999F, 1e-7F), {});
  initialize(step.replica(0), 3);
  sim::clear_nvtx_ranges();
  step.train(random_samples({6, 6, 1}, 7, 1), labels(7, 3, 1));
  return {sim::nvtx_ranges()};
}

std::multiset<std::int64_t> numbers(const std::vector<sim::NvtxRange>& ranges) {
  std::multiset<std::int64_t> found;
  for (const sim::NvtxRange& range : ranges) found.insert(range.number);
  return found;
}

TEST(Ranges, OfOneStepAreItsSixPhasesOnceForEachReplica) {
  ASSERT_TRUE(listening);
  const Heard heard = heard_of_a_step();
  const std::multiset<std::int64_t> each = {0, 1, 2};
  for (const char* phase : {"shard", "local gradients", "forward", "backward", "update"})
    EXPECT_EQ(heard.named(phase).size(), kReplicas) << phase;
  for (const char* phase : {"shard", "local gradients", "update"}) EXPECT_EQ(numbers(heard.named(phase)), each) << phase;
  for (const char* phase : {"step", "replicate", "all-reduce", "barrier"}) EXPECT_EQ(heard.named(phase).size(), 1U) << phase;
  EXPECT_EQ(heard.named("step").front().number, 1);
}

TEST(Ranges, NestAsTheWorkDoes) {
  const Heard heard = heard_of_a_step();
  for (const char* phase : {"replicate", "all-reduce", "barrier"}) EXPECT_TRUE(heard.inside(heard.named(phase).front(), "step")) << phase;
  for (const char* part : {"forward", "loss and metrics", "backward"})
    for (const sim::NvtxRange& range : heard.named(part)) EXPECT_TRUE(heard.inside(range, "local gradients")) << part;
  ASSERT_GT(heard.named("bucket").size(), 1U);
  std::int64_t next = 0;
  for (const sim::NvtxRange& bucket : heard.named("bucket")) {
    EXPECT_EQ(bucket.number, next++);
    EXPECT_TRUE(heard.inside(bucket, "all-reduce"));
  }
}

TEST(Ranges, NameEveryLayerForwardAndBackward) {
  const Heard heard = heard_of_a_step();
  const Graph graph = small_graph();
  for (const Node& node : graph.nodes()) {
    if (node.layer->class_name() == "Flatten") continue;  // another shape for the same bytes: nothing is issued
    int forward = 0, backward = 0;
    for (const sim::NvtxRange& range : heard.named(node.layer->name())) {
      forward += heard.inside(range, "forward") ? 1 : 0;
      backward += heard.inside(range, "backward") ? 1 : 0;
    }
    EXPECT_EQ(forward, kReplicas) << node.layer->name();
    EXPECT_EQ(backward, kReplicas) << node.layer->name();
  }
}

TEST(Ranges, OfAReplicaAreOnAThreadThatBearsItsName) {
  const Heard heard = heard_of_a_step();
  std::set<std::uint32_t> threads;
  for (const sim::NvtxRange& range : heard.named("local gradients")) {
    EXPECT_EQ(sim::nvtx_thread_name(range.thread), "replica " + std::to_string(range.number));
    threads.insert(range.thread);
  }
  EXPECT_EQ(threads.size(), kReplicas);
}

TEST(Ranges, GivePhasesTheColoursOfTheTrace) {
  const Heard heard = heard_of_a_step();
  std::set<std::uint32_t> colours;
  for (const char* phase : kPhases) colours.insert(heard.named(phase).front().colour);
  EXPECT_EQ(colours.size(), kPhases.size());
  EXPECT_EQ(colours.count(0), 0U);
}

}  // namespace
}  // namespace lockstep
