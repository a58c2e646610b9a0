// Stragglers planted in the virtual GPU: a replica whose launches come late, a link whose copies do. The summary names them.
#include <gtest/gtest.h>

#include "engine/distribute/step/mirrored_step.h"
#include "engine/optim/adam.h"
#include "simulator/gpu/runtime/faults.h"
#include "simulator/trace/figures.h"
#include "simulator/trace/trace.h"
#include "simulator/trace/trace_summary.h"
#include "tests/engine/distribute/support/gpus.h"
#include "tests/engine/distribute/support/model.h"

namespace lockstep {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): GPUs and models made for these tests

constexpr int kReplicas = 3;
constexpr int kSteps = 9;

TraceContents with_fault(const std::string& fault) {
  Gpus gpus = whole_cards(kReplicas);
  if (gpus.pointers.empty()) return {};
  Tracer tracer;
  MirroredStep step(small_graph(), gpus.pointers, make_cross_device_ops("ring"), {}, &tracer);
  step.set_training(make_loss("sparse_categorical_crossentropy"), std::make_shared<AdamImpl>(1e-3F, 0.9F, 0.999F, 1e-7F), {});
  initialize(step.replica(0), 3);
  step.replicate();
  sim::arm_faults(fault);
  for (int i = 0; i < kSteps; ++i) step.train(random_samples({6, 6, 1}, 9, 1), labels(9, 3, 1));
  sim::reset_faults();
  return tracer.contents();
}

TEST(PlantedStraggler, ASlowReplicaIsNamedBySummary) {
  const TraceContents contents = with_fault("launch:1:device=1:times=1000000:stall=4");
  if (contents.spans.empty()) GTEST_SKIP() << "the machine has too few cards";
  const Straggler found = trace_figures(contents.spans).slow_replica;
  ASSERT_TRUE(found.found) << trace_summary(contents);
  EXPECT_EQ(found.replica, 1);
  EXPECT_NE(trace_summary(contents).find("Straggler: replica 1 computes"), std::string::npos) << trace_summary(contents);
}

TEST(PlantedStraggler, ASlowLinkIsNamedBySummary) {
  const TraceContents contents = with_fault("cudaMemcpyPeerAsync:1:device=2:times=1000000:stall=8");
  if (contents.spans.empty()) GTEST_SKIP() << "the machine has too few cards";
  const Straggler found = trace_figures(contents.spans).slow_link;
  ASSERT_TRUE(found.found) << trace_summary(contents);
  EXPECT_EQ(found.from, 1);
  EXPECT_EQ(found.to, 2);
  EXPECT_NE(trace_summary(contents).find("the link 1 -> 2"), std::string::npos) << trace_summary(contents);
}

}  // namespace
}  // namespace lockstep
