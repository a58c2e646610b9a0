#include "tests/engine/nn/support/runner.h"

#include <limits>
#include <utility>

#include "engine/ops/elementwise.h"

namespace lockstep::test {
namespace {

class ProbeOp : public LayerOp {
 public:
  void forward(const LayerRun& run) override { ops::copy(run.op, run.variables[0], run.output); }
  void backward(const LayerRun& run) override {
    ops::copy(run.op, run.output_gradient, run.gradients[0]);
    run.finished(0);
  }
  bool needs_input() const override { return false; }
  bool needs_output() const override { return false; }
};

class Probe : public LayerImpl {
 public:
  Probe(std::int64_t batch, Shape sample) : batch_(batch), sample_(std::move(sample)) {}
  std::string class_name() const override { return "Probe"; }
  Shape output_shape(const std::vector<Shape>&) const override { return sample_; }
  std::vector<VariableSpec> variables(const std::vector<Shape>&) const override { return {{"value", sample_.batched(batch_), true, {}}}; }
  std::unique_ptr<LayerOp> plan(const LayerPlan&) const override { return std::make_unique<ProbeOp>(); }

 private:
  std::int64_t batch_;
  Shape sample_;
};

class SumOp : public LayerOp {
 public:
  bool needs_input() const override { return false; }
  bool needs_output() const override { return false; }
  void forward(const LayerRun& run) override {
    ops::copy(run.op, run.inputs[0], run.output);
    for (std::size_t i = 1; i < run.inputs.size(); ++i) ops::add(run.op, run.inputs[i], run.output);
  }
  void backward(const LayerRun& run) override {
    for (const Tensor& to : run.input_gradients)
      if (to.defined()) ops::copy(run.op, run.output_gradient, to);
  }
};

class Sum : public LayerImpl {
 public:
  std::string class_name() const override { return "Add"; }
  Shape output_shape(const std::vector<Shape>& inputs) const override { return inputs.at(0); }
  std::unique_ptr<LayerOp> plan(const LayerPlan&) const override { return std::make_unique<SumOp>(); }
};

}  // namespace

std::vector<std::shared_ptr<LayerImpl>> impls(const std::vector<Layer>& layers) {
  std::vector<std::shared_ptr<LayerImpl>> made;
  for (const Layer& layer : layers) made.push_back(layer.impl());
  return made;
}

Values random_values(std::int64_t count, std::mt19937& random, float low, float high) {
  std::uniform_real_distribution<float> draw(low, high);
  Values values(static_cast<std::size_t>(count));
  for (float& value : values) value = draw(random);
  return values;
}

Runner::Runner(Graph g, std::int64_t batch, Mode mode)
    : gpu(GpuId{}),
      graph(std::move(g)),
      variables(gpu, graph.layout(), "replica 0"),
      workspace(gpu, "replica 0: activations"),
      program(graph, variables, workspace, batch, mode) {
  info.global_batch = batch;
}

void Runner::randomize(std::mt19937& random, float width) {
  for (std::size_t i = 0; i < graph.layout().specs().size(); ++i) {
    const Shape& shape = graph.layout().specs()[i].shape;
    variables.write(static_cast<int>(i), Array(shape, random_values(shape.size(), random, -width, width)));
  }
}

Values Runner::variable(int index) const {
  const Array values = variables.read(index);
  return {values.data<float>(), values.data<float>() + values.size()};
}

Values Runner::gradient(int index) { return read(variables.gradient(index)); }

Values Runner::read(const Tensor& tensor) {
  Values values(static_cast<std::size_t>(tensor.size()));
  ops::download(context(), tensor, values.data());
  gpu.compute().synchronize();
  return values;
}

void Runner::write(const Tensor& tensor, const void* values) {
  ops::upload(context(), values, tensor);
  gpu.compute().synchronize();
}

Values Runner::forward(Program& which, const Values& x) {
  write(which.input(), x.data());
  which.forward(info);
  return read(which.output());
}

void Runner::backward(const Values& gradient, bool from_logits) {
  write(from_logits ? program.logits_gradient() : program.output_gradient(), gradient.data());
  finished.clear();
  program.backward(info, from_logits, [this](int variable) { finished.push_back(variable); });
  gpu.compute().synchronize();
}

void Runner::poison() {
  const std::int64_t floats = static_cast<std::int64_t>(program.memory_bytes() / sizeof(float));
  ops::fill(context(), std::numeric_limits<float>::quiet_NaN(), Tensor(workspace.reserve(program.memory_bytes()), Shape{floats}));
}

std::shared_ptr<LayerImpl> make_probe(std::int64_t batch, const Shape& sample) { return std::make_shared<Probe>(batch, sample); }
std::shared_ptr<LayerImpl> make_sum() { return std::make_shared<Sum>(); }

}  // namespace lockstep::test
