// Programs: whole models against the reference, memory that is used again, and what a step may not do.
#include "engine/nn/program.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "engine/nn/program_plan.h"
#include "lockstep/error.h"
#include "tests/engine/nn/support/reference.h"
#include "tests/engine/nn/support/runner.h"

namespace lockstep::test {
namespace {

std::vector<Layer> mnist() { return {Conv2D(32, 3, "relu"), MaxPooling2D(2), Flatten(), Dense(128, "relu"), Dense(10)}; }
const Shape kMnist{28, 28, 1};

std::vector<Layer> small(const std::string& last = "") {
  return {Conv2D(4, 3, "relu"), MaxPooling2D(2), Conv2D(3, 2), ReLU(), Flatten(), Dense(6, "relu"), Dense(5, last)};
}
const Shape kSmall{10, 9, 2};

Doubles small_logits(const Doubles& x, std::int64_t batch, const std::vector<Doubles>& v) {
  Window three, two, pool;
  three.kernel_h = three.kernel_w = 3;
  two.kernel_h = two.kernel_w = 2;
  pool.kernel_h = pool.kernel_w = pool.stride_h = pool.stride_w = 2;
  Doubles y = relu(conv2d(x, kSmall.batched(batch), v[0], 4, v[1], three));
  y = max_pooling2d(y, Shape{batch, 8, 7, 4}, pool);
  y = relu(conv2d(y, Shape{batch, 4, 3, 4}, v[2], 3, v[3], two));
  y = relu(dense(y, 3 * 2 * 3, v[4], 6, v[5]));
  return dense(y, 6, v[6], 5, v[7]);
}

std::vector<Doubles> all_variables(const Runner& runner) {
  std::vector<Doubles> variables;
  for (std::size_t i = 0; i < runner.graph.layout().specs().size(); ++i) variables.push_back(doubles(runner.variable(static_cast<int>(i))));
  return variables;
}

void expect_near(const Values& got, const Doubles& want, double tolerance, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  double scale = 1e-6;
  for (const double w : want) scale = std::max(scale, std::fabs(w));
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], tolerance * scale) << what << " element " << i;
}

void expect_gradients(Runner& runner, const std::function<double(const std::vector<Doubles>&)>& loss, std::mt19937& random) {
  std::vector<Doubles> variables = all_variables(runner);
  for (std::size_t v = 0; v < variables.size(); ++v) {
    const Values all = runner.gradient(static_cast<int>(v));
    Values got;
    Doubles want;
    for (int k = 0; k < 20; ++k) {
      const std::size_t element = std::uniform_int_distribution<std::size_t>(0, all.size() - 1)(random);
      got.push_back(all[element]);
      want.push_back(slope(loss, variables, v, element));
    }
    expect_near(got, want, 3e-5, runner.graph.layout().specs()[v].name);
  }
}

double dot(const Doubles& a, const Values& b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }

TEST(Program, AWholeModelEqualsTheReferenceWithNoMemoryReadBeforeItIsWritten) {
  std::mt19937 random(20);
  const std::int64_t batch = 3;
  Runner runner(small(), kSmall, batch);
  runner.randomize(random);
  for (int step = 0; step < 2; ++step) {
    runner.poison();
    const Values x = random_values(batch * kSmall.size(), random), up = random_values(batch * 5, random);
    expect_near(runner.forward(x), small_logits(doubles(x), batch, all_variables(runner)), 1e-5, "logits");
    runner.backward(up);
    expect_gradients(
        runner, [&](const auto& v) { return dot(small_logits(doubles(x), batch, v), up); }, random);
  }
}

TEST(Program, ASoftmaxOutputCanBeTrainedFromLogitsOrFromItself) {
  std::mt19937 random(21);
  const std::int64_t batch = 4;
  Runner runner(small("softmax"), kSmall, batch);
  runner.randomize(random, 0.5F);  // a softmax that is nearly one-hot has gradients of rounding errors only
  EXPECT_TRUE(runner.program.softmax_output());
  const Values x = random_values(batch * kSmall.size(), random), up = random_values(batch * 5, random);
  const Values probabilities = runner.forward(x);
  const Doubles logits = small_logits(doubles(x), batch, all_variables(runner));
  expect_near(probabilities, softmax(logits, 5), 1e-5, "probabilities");
  expect_near(runner.read(runner.program.logits()), logits, 1e-5, "logits");
  runner.backward(up, false);
  expect_gradients(
      runner, [&](const auto& v) { return dot(softmax(small_logits(doubles(x), batch, v), 5), up); }, random);
  runner.forward(x);
  runner.backward(up, true);
  expect_gradients(
      runner, [&](const auto& v) { return dot(small_logits(doubles(x), batch, v), up); }, random);
}

TEST(Program, WithoutASoftmaxLogitsAreTheOutput) {
  Runner runner(small(), kSmall, 2);
  EXPECT_FALSE(runner.program.softmax_output());
  EXPECT_EQ(runner.program.logits().raw(), runner.program.output().raw());
  EXPECT_EQ(runner.program.logits_gradient().raw(), runner.program.output_gradient().raw());
  EXPECT_EQ(runner.program.input().shape(), kSmall.batched(2));
  EXPECT_EQ(runner.program.output().shape(), (Shape{2, 5}));
  EXPECT_EQ(runner.program.batch(), 2);
}

TEST(Program, BranchesAddTheirGradients) {  // y = dense_2(x1 + relu(x1) + dense_1(x1)), x1 = dense(x): x1 has three readers
  std::mt19937 random(22);
  const std::int64_t batch = 3;
  const auto build = [] {
    std::vector<Node> nodes{{Dense(4).impl(), {-1}, {}},
                            {ReLU().impl(), {0}, {}},
                            {Dense(4).impl(), {0}, {}},
                            {make_sum(), {0, 1, 2}, {}},
                            {Dense(2).name("top").impl(), {3}, {}}};
    return Graph::build(std::move(nodes), Shape{3});
  };
  Runner runner(build(), batch);
  runner.randomize(random);
  runner.poison();
  const auto reference = [&](const Doubles& x, const std::vector<Doubles>& v) {
    const Doubles a = dense(x, 3, v[0], 4, v[1]), b = relu(a), c = dense(a, 4, v[2], 4, v[3]);
    Doubles sum = a;
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += b[i] + c[i];
    return dense(sum, 4, v[4], 2, v[5]);
  };
  const Values x = random_values(batch * 3, random), up = random_values(batch * 2, random);
  expect_near(runner.forward(x), reference(doubles(x), all_variables(runner)), 1e-5, "output");
  runner.backward(up);
  expect_gradients(
      runner, [&](const auto& v) { return dot(reference(doubles(x), v), up); }, random);
}

TEST(Program, ScoresStayReadableThroughBackward) {
  std::mt19937 random(25);
  Runner runner({Dense(40), Dense(30, "softmax")}, Shape{50}, 8);
  runner.randomize(random, 0.3F);
  const Values output = runner.forward(random_values(8 * 50, random)), logits = runner.read(runner.program.logits());
  EXPECT_NE(output, logits);
  runner.backward(random_values(8 * 30, random));
  EXPECT_EQ(runner.read(runner.program.output()), output);
  EXPECT_EQ(runner.read(runner.program.logits()), logits);
}

TEST(Program, GradientsAreReportedInTheLayoutsOrder) {
  Runner runner(mnist(), kMnist, 2);
  runner.forward(Values(2 * 784, 0.5F));
  runner.backward(Values(20, 1.0F));
  EXPECT_EQ(runner.finished, runner.graph.layout().ready_order());
}

TEST(Program, ALayerThatReportsOutOfOrderIsCaught) {
  class Backwards : public LayerOp {
   public:
    void forward(const LayerRun&) override {}
    void backward(const LayerRun& run) override { run.finished(0), run.finished(1); }  // promised: 1, then 0
  };
  class Wrong : public LayerImpl {
   public:
    std::string class_name() const override { return "Wrong"; }
    Shape output_shape(const std::vector<Shape>& inputs) const override { return inputs[0]; }
    std::vector<VariableSpec> variables(const std::vector<Shape>&) const override {
      return {{"a", Shape{1}, true, {}}, {"b", Shape{1}, true, {}}};
    }
    std::unique_ptr<LayerOp> plan(const LayerPlan&) const override { return std::make_unique<Backwards>(); }
  };
  Runner runner(Graph::chain({std::make_shared<Wrong>()}, Shape{3}), 2);
  EXPECT_THROW(runner.backward(Values(6)), Error);
}

TEST(Program, NoAllocationAfterConstruction) {
  Runner runner(mnist(), kMnist, 8);
  const std::uint64_t before = runner.gpu.arena().allocations();
  for (int step = 0; step < 3; ++step) {
    runner.forward(Values(8 * 784, 0.5F));
    runner.backward(Values(80, 0.1F));
  }
  EXPECT_EQ(runner.gpu.arena().allocations(), before);
}

TEST(Program, InferenceGivesTheBitsOfTrainingInLessMemory) {
  std::mt19937 random(23);
  Runner training(mnist(), kMnist, 16);
  training.randomize(random);
  Program inference(training.graph, training.variables, training.workspace, 16, Mode::inference);
  const Values x = random_values(16 * 784, random);
  EXPECT_EQ(training.forward(x), training.forward(inference, x));
  EXPECT_LT(inference.memory_bytes(), training.program.memory_bytes());
  EXPECT_THROW(inference.backward({}, false, nullptr), Error);
}

TEST(Program, ProgramsShareAWorkspaceThatGrows) {
  std::mt19937 random(24);
  Runner runner(small(), kSmall, 2);
  runner.randomize(random);
  const Values x2 = random_values(2 * kSmall.size(), random), x9 = random_values(9 * kSmall.size(), random);
  const Values before = runner.forward(x2);
  const std::uint64_t generation = runner.workspace.generation();
  const Buffer wall = runner.gpu.arena().allocate(1 << 20, "a wall, so that the workspace cannot grow where it stands");
  const void* old = runner.program.input().raw();
  Program larger(runner.graph, runner.variables, runner.workspace, 9, Mode::training);
  EXPECT_NE(runner.workspace.generation(), generation);
  expect_near(runner.forward(larger, x9), small_logits(doubles(x9), 9, all_variables(runner)), 1e-5, "larger");
  EXPECT_NE(runner.program.input().raw(), old);
  const auto begin = static_cast<const char*>(runner.workspace.reserve(0));
  for (const Tensor& tensor : {runner.program.input(), runner.program.output(), runner.program.output_gradient()}) {
    const std::ptrdiff_t offset = static_cast<const char*>(tensor.raw()) - begin;
    EXPECT_TRUE(offset >= 0 && offset < static_cast<std::ptrdiff_t>(larger.memory_bytes())) << "still in the memory that was given back";
  }
  EXPECT_EQ(runner.forward(x2), before);
  const Values up = random_values(10, random);
  runner.backward(up);
  expect_gradients(
      runner, [&](const auto& v) { return dot(small_logits(doubles(x2), 2, v), up); }, random);
  Program smaller(runner.graph, runner.variables, runner.workspace, 1, Mode::training);
  EXPECT_EQ(runner.workspace.generation(), generation + 1) << "a smaller program moves nothing";
}

TEST(Program, TheFirstLayersInputGradientIsNotComputed) {
  LogicalGpu gpu{GpuId{}};
  const ProgramPlan plan = plan_program(Graph::chain(impls({Flatten(), Dense(3), Dense(2)}), Shape{2, 2}), gpu, 4, Mode::training);
  EXPECT_FALSE(plan.values[0].wants_gradient);
  EXPECT_FALSE(plan.steps[0].runs_backward);
  ASSERT_EQ(plan.steps[1].input_gradients.size(), 1U);
  EXPECT_EQ(plan.steps[1].input_gradients[0].memory, kNowhere);
  EXPECT_NE(plan.steps[2].input_gradients[0].memory, kNowhere);
}

TEST(Program, ReshapesShareMemoryAndActivationsRunInPlace) {
  LogicalGpu gpu{GpuId{}};
  const ProgramPlan plan =
      plan_program(Graph::chain(impls({Conv2D(2, 3), ReLU(), Flatten(), Dense(2)}), Shape{6, 6, 1}), gpu, 4, Mode::training);
  EXPECT_EQ(plan.values[1].memory, plan.values[2].memory) << "relu writes over the convolution";
  EXPECT_EQ(plan.values[2].memory, plan.values[3].memory) << "flatten moves nothing";
  EXPECT_EQ(plan.values[1].gradient, plan.values[3].gradient);
  const ProgramPlan kept = plan_program(Graph::chain(impls({Conv2D(2, 3, "relu"), ReLU()}), Shape{6, 6, 1}), gpu, 4, Mode::training);
  EXPECT_NE(kept.values[1].memory, kept.values[2].memory) << "the convolution's backward reads its output";
}

TEST(Program, ZerosThatOnlyADepthwiseConvolutionReadsAreNotWritten) {
  const Layer zeros = ZeroPadding2D(0, 1, 0, 1), see = DepthwiseConv2D(3);
  LogicalGpu gpu{GpuId{}};
  const auto steps = [&](const std::vector<Layer>& layers) {
    return plan_program(Graph::chain(impls(layers), Shape{6, 6, 8}), gpu, 2, Mode::training).steps.size();
  };
  EXPECT_EQ(steps({zeros, see, Flatten(), Dense(2)}), steps({see, Flatten(), Dense(2)}));
  EXPECT_EQ(steps({zeros, Conv2D(3, 3), Flatten(), Dense(2)}), steps({Conv2D(3, 3), Flatten(), Dense(2)}) + 1);
}

TEST(Program, MemoryIsUsedAgain) {
  LogicalGpu gpu{GpuId{}};
  for (const Mode mode : {Mode::training, Mode::inference}) {
    const ProgramPlan plan = plan_program(Graph::chain(impls(mnist()), kMnist), gpu, 64, mode);
    std::size_t sum = 0;
    for (const Lifetime& life : plan.lifetimes) sum += life.bytes;
    EXPECT_LT(plan.memory.total, sum);
    EXPECT_LE(static_cast<double>(plan.memory.total), 1.05 * static_cast<double>(peak_bytes(plan.lifetimes)));
  }
}

TEST(Program, ABatchNeedsASample) {
  Runner runner(small(), kSmall, 1);
  EXPECT_THROW(Program(runner.graph, runner.variables, runner.workspace, 0, Mode::training), Error);
}

TEST(VariableStore, StartsAtZeroAndKeepsSlots) {
  Runner runner(small(), kSmall, 1);
  EXPECT_EQ(runner.read(runner.variables.weights()), Values(static_cast<std::size_t>(runner.graph.layout().trainable_elements())));
  EXPECT_FALSE(runner.variables.state().defined());
  runner.variables.make_slots(2);
  const Values ones(static_cast<std::size_t>(runner.graph.layout().trainable_elements()), 1.0F);
  EXPECT_NE(runner.read(runner.variables.slot(1)), ones);
  runner.write(runner.variables.slot(1), ones.data());
  runner.variables.make_slots(2);
  EXPECT_EQ(runner.read(runner.variables.slot(1)), ones);
}

TEST(VariableStore, InitializesFromTheSeedAndLeavesPaddingZero) {
  Runner a(small(), kSmall, 1), b(small(), kSmall, 7);
  a.variables.initialize(5);
  b.variables.initialize(5);
  const Values weights = a.read(a.variables.weights());
  EXPECT_EQ(weights, b.read(b.variables.weights()));
  b.variables.initialize(6);
  EXPECT_NE(weights, b.read(b.variables.weights()));
  const VariableLayout& layout = a.graph.layout();
  std::vector<bool> used(weights.size(), false);
  for (std::size_t v = 0; v < layout.specs().size(); ++v)
    for (std::int64_t i = 0; i < layout.specs()[v].shape.size(); ++i)
      used[static_cast<std::size_t>(layout.offset(static_cast<int>(v)) + i)] = true;
  for (std::size_t i = 0; i < weights.size(); ++i) EXPECT_TRUE(used[i] || weights[i] == 0.0F) << i;
  EXPECT_THROW(a.variables.write(0, Array(Shape{1})), Error);
  EXPECT_THROW((void)a.variables.variable(99), std::exception);
}

}  // namespace
}  // namespace lockstep::test
