// Passes as CUDA graphs: the same bits, segments where they must end, and no graph that outlives what it was captured for.
#include "engine/nn/program_graphs.h"

#include <gtest/gtest.h>

#include <cstring>

#include "engine/ops/elementwise.h"
#include "engine/ops/pointwise.h"
#include "lockstep/error.h"
#include "tests/engine/nn/support/runner.h"

namespace lockstep::test {
namespace {

const Shape kSample{10, 9, 2};

// Convolution, batch normalisation, pooling, products, and a layer that draws new numbers at each step.
std::vector<Layer> layers() {
  return {Conv2D(4, 3), BatchNormalization(), ReLU(), MaxPooling2D(2), Flatten(), Dense(6, "relu"), Dropout(0.5F), Dense(5, "softmax")};
}

bool same_bits(const Values& a, const Values& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

Values gradients_of(Runner& runner) { return runner.read(runner.variables.gradients()); }

std::vector<bool> ends_at(const Runner& runner, const std::vector<int>& variables) {
  std::vector<bool> ends(runner.graph.layout().specs().size());
  for (const int variable : variables) ends[static_cast<std::size_t>(variable)] = true;
  return ends;
}

void expect_equal_steps(Runner& plain, Runner& graphs, int steps, std::uint32_t seed) {
  std::mt19937 random(seed);
  const std::int64_t batch = plain.program.batch();
  for (int step = 0; step < steps; ++step) {
    const Values x = random_values(batch * kSample.size(), random), up = random_values(batch * 5, random);
    const bool from_logits = step % 2 == 0;
    plain.info.step = graphs.info.step = static_cast<std::uint64_t>(step);
    for (Runner* each : {&plain, &graphs}) each->poison();
    EXPECT_TRUE(same_bits(plain.forward(x), graphs.forward(x))) << "output at step " << step;
    for (Runner* each : {&plain, &graphs}) {
      each->finished.clear();
      each->backward(up, from_logits);
    }
    EXPECT_TRUE(same_bits(gradients_of(plain), gradients_of(graphs))) << "gradients at step " << step;
    EXPECT_EQ(plain.finished, graphs.finished);
    EXPECT_TRUE(same_bits(plain.read(plain.variables.state()), graphs.read(graphs.variables.state()))) << "statistics at step " << step;
  }
}

struct Two {
  Two() : plain(layers(), kSample, 3), graphs(layers(), kSample, 3) {
    for (Runner* each : {&plain, &graphs}) {
      std::mt19937 random(30);
      each->randomize(random, 0.5F);
    }
  }
  Runner plain, graphs;
};

TEST(ProgramGraphs, GiveTheSameBits) {
  Two two;
  const std::vector<bool> ends = ends_at(two.graphs, {two.graphs.graph.layout().ready_order().front()});
  two.graphs.program.use_graphs(&ends);
  expect_equal_steps(two.plain, two.graphs, 7, 31);
  EXPECT_GT(two.graphs.program.graphs(), 0);
  EXPECT_EQ(two.plain.program.graphs(), 0);
}

TEST(ProgramGraphs, AreCapturedAtTheSecondRun) {
  Two two;
  const std::vector<bool> none = ends_at(two.graphs, {});
  two.graphs.program.use_graphs(&none);
  const Values x(static_cast<std::size_t>(3 * kSample.size()), 0.5F), up(15, 1.0F);
  two.graphs.forward(x);
  two.graphs.backward(up);
  EXPECT_EQ(two.graphs.program.graphs(), 0);
  two.graphs.forward(x);
  EXPECT_EQ(two.graphs.program.graphs(), 2) << "before and behind the dropout";
  two.graphs.backward(up);
  EXPECT_EQ(two.graphs.program.graphs(), 4);
}

TEST(ProgramGraphs, EndWhereOthersWaitForAVariable) {
  Runner runner({Dense(8, "relu"), Dense(6, "relu"), Dense(5)}, Shape{7}, 2);
  const std::vector<int>& order = runner.graph.layout().ready_order();
  const std::vector<bool> ends = ends_at(runner, {order[1], order[3]});
  runner.program.use_graphs(&ends);
  const Values x(14, 0.5F), up(10, 1.0F);
  for (int run = 0; run < 2; ++run) {
    runner.forward(x);
    runner.backward(up);
  }
  EXPECT_EQ(runner.program.graphs(), 1 + 3);
}

TEST(ProgramGraphs, AreThrownAwayWhenMemoryMoves) {
  Two two;
  const std::vector<bool> ends = ends_at(two.graphs, {});
  two.graphs.program.use_graphs(&ends);
  expect_equal_steps(two.plain, two.graphs, 4, 32);
  ASSERT_GT(two.graphs.program.graphs(), 0);
  const void* before = two.graphs.program.input().raw();
  const std::uint64_t generation = two.graphs.workspace.generation();
  const Program larger(two.graphs.graph, two.graphs.variables, two.graphs.workspace, 64, Mode::training);
  ASSERT_NE(two.graphs.workspace.generation(), generation);
  static_cast<void>(two.graphs.program.input());
  EXPECT_EQ(two.graphs.program.graphs(), 0) << "memory was at " << before;
  expect_equal_steps(two.plain, two.graphs, 4, 33);
  EXPECT_GT(two.graphs.program.graphs(), 0);
  two.graphs.program.use_graphs(nullptr);
  EXPECT_EQ(two.graphs.program.graphs(), 0);
  expect_equal_steps(two.plain, two.graphs, 2, 34);
}

// A pass of plain functions: one step can't be captured, one fails.
struct Steps {
  LogicalGpu gpu{GpuId{}};
  Buffer buffer = gpu.arena().allocate(sizeof(float), "a number");
  Tensor number{buffer.raw(), Shape{1}};
  PassGraphs graphs;
  std::vector<bool> ends;

  float run(const std::function<void()>& also) {
    const OpContext context{&gpu, &gpu.compute(), {}};
    PassGraphs::Pass pass;
    pass.stream = &gpu.compute();
    pass.steps = 2;
    pass.fixed = [](std::size_t) { return true; };
    pass.issue = [&](std::size_t step, const PassGraphs::Ready&) {
      if (step == 0) ops::fill(context, 1.0F, number);
      if (step == 1) also(), ops::scale_and_shift(context, number, number, 2, 1);
    };
    pass.capture = pass.issue;
    pass.launch = [&](const std::vector<std::size_t>& steps, const CapturedGraph& graph) {
      EXPECT_EQ(steps, (std::vector<std::size_t>{0, 1})) << "whose work it is";
      graph.launch(gpu.compute());
    };
    graphs.run(pass, ends, nullptr);
    float value = 0;
    ops::download(context, number, &value);
    gpu.compute().synchronize();
    return value;
  }
};

TEST(ProgramGraphs, WhatCannotBeCapturedRunsWithoutThem) {
  Steps steps;
  for (int run = 0; run < 4; ++run) {
    EXPECT_EQ(steps.run([&] { steps.gpu.compute().synchronize(); }), 3.0F);
    EXPECT_EQ(steps.graphs.graphs(), 0);
  }
}

TEST(ProgramGraphs, AnErrorWhileCapturingIsPassedOnAndTheStreamGoesOn) {
  Steps steps;
  EXPECT_EQ(steps.run([] {}), 3.0F);
  EXPECT_THROW(steps.run([] { throw Error("no"); }), Error);
  EXPECT_EQ(steps.graphs.graphs(), 0);
  EXPECT_EQ(steps.run([] {}), 3.0F);
  EXPECT_EQ(steps.graphs.graphs(), 1);
  EXPECT_EQ(steps.run([] { FAIL() << "it is not issued again"; }), 3.0F);
}

}  // namespace
}  // namespace lockstep::test
