#include "program.h"

#include <utility>

#include "elementwise.h"
#include "lockstep/error.h"
#include "program_plan.h"

namespace lockstep {

void* Workspace::reserve(std::size_t bytes) {
  if (bytes > buffer_.bytes()) {
    gpu_->compute().synchronize();
    gpu_->communication().synchronize();
    buffer_ = Buffer();  // first, so that old and new never stand side by side
    ++generation_;
    buffer_ = gpu_->arena().allocate(bytes, owner_);
  }
  return buffer_.raw();
}

struct Program::State {
  // Forward and backward of one step, ready to be handed to its layer; only `info` and `ready` change from call to call.
  struct Runs {
    LayerRun forward, backward;
  };
  struct Sum {  // an input's gradient that another layer wrote before
    int step = 0;
    Tensor from, to;
  };

  State(const Graph& graph, VariableStore& store, Workspace& space, std::int64_t samples, Mode how)
      : layout(&graph.layout()),
        input_type(graph.input_type()),
        variables(&store),
        workspace(&space),
        batch(samples),
        mode(how),
        plan(plan_program(graph, space.gpu(), samples, how)) {
    bind();
  }

  Tensor at(int memory, const Shape& shape) const {
    if (memory == kNowhere) return {};
    return {static_cast<char*>(base) + plan.memory.offsets[static_cast<std::size_t>(memory)], shape};
  }
  Tensor bytes_at(int memory) const {
    if (memory == kNowhere) return {};
    const std::size_t bytes = plan.lifetimes[static_cast<std::size_t>(memory)].bytes;
    return at(memory, Shape{static_cast<std::int64_t>((bytes + sizeof(float) - 1) / sizeof(float))});
  }
  const PlannedValue& value(int i) const { return plan.values[static_cast<std::size_t>(i)]; }
  Tensor activation(int i) const { return at(value(i).memory, value(i).shape); }
  Tensor gradient(int i) const { return at(value(i).gradient, value(i).shape); }

  // Addresses of everything; again whenever another program made the workspace grow.
  void bind() {
    base = workspace->reserve(plan.memory.total);
    generation = workspace->generation();
    input = Tensor(activation(0).raw(), value(0).shape, input_type);
    output = activation(plan.output);
    logits = activation(plan.logits);
    output_gradient = gradient(plan.output);
    logits_gradient = gradient(plan.logits);
    LogicalGpu& gpu = workspace->gpu();
    plain = OpContext{&gpu, &gpu.compute(), {}};
    runs.clear();
    sums.clear();
    for (std::size_t i = 0; i < plan.steps.size(); ++i) {
      const PlannedStep& step = plan.steps[i];
      LayerRun run;
      run.op = OpContext{&gpu, &gpu.compute(), bytes_at(step.forward_scratch)};
      run.saved = bytes_at(step.saved);
      run.output = activation(step.output);
      for (const int in : step.inputs) run.inputs.push_back(activation(in));
      run.first_variable = step.first_variable;
      for (int k = 0; k < step.variable_count; ++k) {
        const int index = step.first_variable + k;
        const bool trainable = layout->specs()[static_cast<std::size_t>(index)].trainable;
        run.variables.push_back(variables->variable(index));
        run.gradients.push_back(trainable ? variables->gradient(index) : Tensor());
      }
      LayerRun back = run;
      if (step.unread_gradients != kNowhere)
        for (int k = 0; k < step.variable_count; ++k)
          back.gradients[static_cast<std::size_t>(k)] =
              at(step.unread_gradients, layout->specs()[static_cast<std::size_t>(step.first_variable + k)].shape);
      back.op.scratch = bytes_at(step.backward_scratch);
      back.output_gradient = gradient(step.output);
      for (std::size_t k = 0; k < step.input_gradients.size(); ++k) {
        const Tensor to = at(step.input_gradients[k], value(step.inputs[k]).shape);
        back.input_gradients.push_back(to);
        if (step.adds[k]) sums.push_back({static_cast<int>(i), to, gradient(step.inputs[k])});
      }
      runs.push_back({std::move(run), std::move(back)});
    }
  }

  void rebind_if_moved() {
    if (generation != workspace->generation()) bind();
  }

  const VariableLayout* layout;
  DType input_type;
  VariableStore* variables;
  Workspace* workspace;
  std::int64_t batch;
  Mode mode;
  ProgramPlan plan;

  void* base = nullptr;
  std::uint64_t generation = 0;
  Tensor input, output, logits, output_gradient, logits_gradient;
  OpContext plain;
  std::vector<Runs> runs;
  std::vector<Sum> sums;
};

Program::Program(const Graph& graph, VariableStore& variables, Workspace& workspace, std::int64_t batch, Mode mode)
    : state_(std::make_unique<State>(graph, variables, workspace, batch, mode)) {}
Program::~Program() = default;

std::int64_t Program::batch() const { return state_->batch; }
bool Program::softmax_output() const { return state_->plan.softmax_output; }
Tensor Program::input() const { return state_->rebind_if_moved(), state_->input; }
Tensor Program::output() const { return state_->rebind_if_moved(), state_->output; }
Tensor Program::logits() const { return state_->rebind_if_moved(), state_->logits; }
Tensor Program::logits_gradient() const { return state_->rebind_if_moved(), state_->logits_gradient; }
Tensor Program::output_gradient() const { return state_->rebind_if_moved(), state_->output_gradient; }
std::size_t Program::memory_bytes() const { return state_->plan.memory.total; }

void Program::forward(const StepInfo& info, const std::function<void(const LayerImpl&, const Tensor&)>& after) {
  state_->rebind_if_moved();
  for (std::size_t i = 0; i < state_->plan.steps.size(); ++i) {
    LayerOp* op = state_->plan.steps[i].op.get();
    if (op == nullptr) continue;
    LayerRun& run = state_->runs[i].forward;
    run.info = &info;
    op->forward(run);
    run.info = nullptr;
    if (after) after(*state_->plan.steps[i].layer, run.output);
  }
}

void Program::backward(const StepInfo& info, bool from_logits, const std::function<void(int variable)>& ready) {
  State& s = *state_;
  if (s.mode != Mode::training) throw Error("This program was planned for inference: it has no backward pass");
  s.rebind_if_moved();
  // Buckets are cut in the layout's order, so a layer that reports another one must not pass unnoticed.
  const std::vector<int>& order = s.layout->ready_order();
  std::size_t reported = 0;
  const std::function<void(int)> report = [&](int variable) {
    if (s.layout->specs()[static_cast<std::size_t>(variable)].frozen) return;
    if (reported >= order.size() || order[reported] != variable)
      throw Error("The gradient of " + s.layout->specs().at(static_cast<std::size_t>(variable)).name + " was finished out of its order");
    ++reported;
    if (ready) ready(variable);
  };
  for (std::size_t i = s.plan.steps.size(); i-- > 0;) {
    const PlannedStep& step = s.plan.steps[i];
    if (!step.runs_backward) continue;
    const bool skipped = from_logits && s.plan.softmax_output && i + 1 == s.plan.steps.size();
    if (step.op && !skipped) {
      LayerRun& run = s.runs[i].backward;
      run.info = &info;
      run.ready = &report;
      run.squares.clear();
      for (int k = 0; k < step.variable_count; ++k) run.squares.push_back(s.variables->squares(step.first_variable + k));
      step.op->backward(run);
      run.info = nullptr;
      run.ready = nullptr;
    }
    for (const State::Sum& sum : s.sums)
      if (sum.step == static_cast<int>(i)) ops::add(s.plain, sum.from, sum.to);
  }
  if (reported != order.size()) throw Error("Backward ended before every gradient was reported");
}

}  // namespace lockstep
