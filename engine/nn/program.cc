#include "engine/nn/program.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "engine/device/range.h"
#include "engine/nn/program_graphs.h"
#include "engine/nn/program_plan.h"
#include "engine/ops/elementwise.h"
#include "lockstep/error.h"

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
    forget_graphs();
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
    if (variable_generation == variables->generation()) return;
    variable_generation = variables->generation();
    forget_graphs();
  }

  void forget_graphs() {
    forward_graphs.clear();
    for (PassGraphs& graphs : backward_graphs) graphs.clear();
  }

  bool same_every_step(std::size_t i) const { return !plan.steps[i].op || plan.steps[i].op->same_every_step(); }

  void forward(std::size_t i, const StepInfo* info) {
    LayerOp* op = plan.steps[i].op.get();
    if (op == nullptr) return;
    LayerRun& run = runs[i].forward;
    run.info = info;
    op->forward(run);
    run.info = nullptr;
  }

  void backward(std::size_t i, const StepInfo* info, bool skipped, const PassGraphs::Ready& done) {
    const PlannedStep& step = plan.steps[i];
    if (!step.runs_backward) return;
    if (step.op && !skipped) {
      const std::function<void(int)> ready = [&](int variable) {
        if (!layout->specs()[static_cast<std::size_t>(variable)].frozen) done(variable);
      };
      LayerRun& run = runs[i].backward;
      run.info = info;
      run.ready = &ready;
      run.squares.clear();
      for (int k = 0; k < step.variable_count; ++k) run.squares.push_back(variables->squares(step.first_variable + k));
      step.op->backward(run);
      run.info = nullptr;
      run.ready = nullptr;
    }
    for (const Sum& sum : sums)
      if (sum.step == static_cast<int>(i)) ops::add(plain, sum.from, sum.to);
  }

  // Issues the work of these steps in the model's order, and tells the watcher of it. Times are those of the plan: see program_plan.h.
  template <typename Action>
  void watched(const std::vector<std::size_t>& steps, bool is_backward, bool is_graph, Action&& action) {
    const Range range(is_graph ? "graph" : plan.steps[steps.front()].layer->name().c_str());
    if (watcher == nullptr || steps.empty()) return action();
    if (live.empty()) {
      live.resize(2 * plan.steps.size() + 2);
      for (const Lifetime& one : plan.lifetimes)
        for (int time = one.first; time <= one.last && time < static_cast<int>(live.size()); ++time)
          live[static_cast<std::size_t>(time)] += one.bytes;
    }
    LayerWork work{{}, is_backward, is_graph, 0};
    for (const std::size_t i : steps) {
      for (const LayerImpl* layer : plan.steps[i].layers)
        if (work.layers.empty() || work.layers.back() != layer) work.layers.push_back(layer);  // a softmax is a step of its own
      work.live_bytes = std::max(work.live_bytes, live[is_backward ? 2 * plan.steps.size() + 1 - i : i + 1]);
    }
    watcher->begin(work);
    try {
      action();
    } catch (...) {
      watcher->end();
      throw;
    }
    watcher->end();
  }

  // With graphs or, where they are not wanted, every operation by itself.
  void run(PassGraphs& graphs, const PassGraphs::Pass& pass, const PassGraphs::Ready& ready, bool followed) const {
    if (segment_ends != nullptr && !followed) return graphs.run(pass, *segment_ends, ready);
    for (std::size_t k = 0; k < pass.steps; ++k) pass.issue(k, ready);
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

  const std::vector<bool>* segment_ends = nullptr;  // null: no graphs
  std::uint64_t variable_generation = 0;
  LayerWatcher* watcher = nullptr;
  std::vector<std::size_t> live;  // bytes, by time of the plan; made for the first who watches
  PassGraphs forward_graphs;
  std::array<PassGraphs, 2> backward_graphs;  // from the output, from the logits
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
  State& s = *state_;
  s.rebind_if_moved();
  PassGraphs::Pass pass;
  pass.stream = s.plain.stream;
  pass.steps = s.plan.steps.size();
  pass.fixed = [&](std::size_t i) { return s.same_every_step(i); };
  pass.issue = [&](std::size_t i, const PassGraphs::Ready&) {
    if (!s.plan.steps[i].op) return;
    s.watched({i}, false, false, [&] { s.forward(i, &info); });
    if (after) after(*s.plan.steps[i].layer, s.runs[i].forward.output);
  };
  pass.capture = [&](std::size_t i, const PassGraphs::Ready&) { s.forward(i, nullptr); };
  pass.launch = [&](const std::vector<std::size_t>& steps, const CapturedGraph& graph) {
    std::vector<std::size_t> at_work;
    std::copy_if(steps.begin(), steps.end(), std::back_inserter(at_work), [&](std::size_t i) { return s.plan.steps[i].op != nullptr; });
    s.watched(at_work, false, true, [&] { graph.launch(*s.plain.stream); });
  };
  s.run(s.forward_graphs, pass, nullptr, after != nullptr);
}

void Program::backward(const StepInfo& info, bool from_logits, const std::function<void(int variable)>& ready) {
  State& s = *state_;
  if (s.mode != Mode::training) throw Error("This program was planned for inference: it has no backward pass");
  s.rebind_if_moved();
  // Buckets are cut in the layout's order, so a layer that reports another one must not pass unnoticed.
  const std::vector<int>& order = s.layout->ready_order();
  std::size_t reported = 0;
  const std::function<void(int)> report = [&](int variable) {
    if (reported >= order.size() || order[reported] != variable)
      throw Error("The gradient of " + s.layout->specs().at(static_cast<std::size_t>(variable)).name + " was finished out of its order");
    ++reported;
    if (ready) ready(variable);
  };
  const std::size_t last = s.plan.steps.size() - 1;
  const std::size_t skipped = from_logits && s.plan.softmax_output ? last : s.plan.steps.size();
  PassGraphs::Pass pass;
  pass.stream = s.plain.stream;
  pass.steps = s.plan.steps.size();
  pass.fixed = [&](std::size_t k) { return s.same_every_step(last - k); };
  const auto at_work = [&](std::size_t i) { return s.plan.steps[i].runs_backward && s.plan.steps[i].op && i != skipped; };
  pass.issue = [&](std::size_t k, const PassGraphs::Ready& done) {
    const std::size_t i = last - k;
    if (!at_work(i)) return s.backward(i, &info, i == skipped, done);
    s.watched({i}, true, false, [&] { s.backward(i, &info, false, done); });
  };
  pass.launch = [&](const std::vector<std::size_t>& steps, const CapturedGraph& graph) {
    std::vector<std::size_t> in_order;
    for (auto k = steps.rbegin(); k != steps.rend(); ++k)
      if (at_work(last - *k)) in_order.push_back(last - *k);
    s.watched(in_order, true, true, [&] { graph.launch(*s.plain.stream); });
  };
  pass.capture = [&](std::size_t k, const PassGraphs::Ready& done) { s.backward(last - k, nullptr, last - k == skipped, done); };
  s.run(s.backward_graphs[from_logits ? 1 : 0], pass, report, false);
  if (reported != order.size()) throw Error("Backward ended before every gradient was reported");
}

void Program::use_graphs(const std::vector<bool>* segment_ends) {
  if (segment_ends == state_->segment_ends) return;
  state_->segment_ends = segment_ends;
  state_->forget_graphs();
}

void Program::watch(LayerWatcher* watcher) { state_->watcher = watcher; }

int Program::graphs() const {
  return state_->forward_graphs.graphs() + state_->backward_graphs[0].graphs() + state_->backward_graphs[1].graphs();
}

}  // namespace lockstep
