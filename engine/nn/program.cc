#include "engine/nn/program.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/device/range.h"
#include "engine/nn/bound_program.h"
#include "engine/nn/program_graphs.h"
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
  State(const Graph& graph, VariableStore& variables, Workspace& workspace, std::int64_t batch, Mode how)
      : mode(how), bound(plan_program(graph, workspace.gpu(), batch, how), variables, workspace) {}

  // With today's addresses.
  const BoundProgram& current() {
    if (bound.rebind_if_moved()) forget_graphs();
    return bound;
  }
  void forget_graphs() {
    forward_graphs.clear();
    for (PassGraphs& graphs : backward_graphs) graphs.clear();
  }

  // Issues the work of these steps, given in the model's order, and reports it to the watcher.
  template <typename Action>
  void watched(const std::vector<std::size_t>& steps, bool is_backward, bool is_graph, Action&& action) {
    const ProgramPlan& plan = bound.plan();
    const Range range(is_graph ? "graph" : plan.steps[steps.front()].layer->name().c_str());
    if (watcher == nullptr || steps.empty()) return action();
    LayerWork work{{}, is_backward, is_graph, 0};
    for (const std::size_t i : steps) {
      for (const LayerImpl* layer : plan.steps[i].layers)
        if (work.layers.empty() || work.layers.back() != layer) work.layers.push_back(layer);  // a softmax is a step of its own
      const int step = static_cast<int>(i);
      const int time = is_backward ? plan.backward_time(step) : plan.forward_time(step);
      work.live_bytes = std::max(work.live_bytes, plan.live_bytes[static_cast<std::size_t>(time)]);
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

  Mode mode;
  BoundProgram bound;
  LayerWatcher* watcher = nullptr;
  const std::vector<bool>* segment_ends = nullptr;  // null: no graphs
  PassGraphs forward_graphs;
  std::array<PassGraphs, 2> backward_graphs;  // from the output, from the logits
};

Program::Program(const Graph& graph, VariableStore& variables, Workspace& workspace, std::int64_t batch, Mode mode)
    : state_(std::make_unique<State>(graph, variables, workspace, batch, mode)) {}
Program::~Program() = default;

std::int64_t Program::batch() const { return state_->bound.plan().values.front().shape[0]; }
bool Program::softmax_output() const { return state_->bound.plan().softmax_output; }
std::size_t Program::memory_bytes() const { return state_->bound.plan().memory.total; }
Tensor Program::input() const { return state_->current().input(); }
Tensor Program::output() const { return state_->current().activation(state_->bound.plan().output); }
Tensor Program::logits() const { return state_->current().activation(state_->bound.plan().logits); }
Tensor Program::logits_gradient() const { return state_->current().gradient(state_->bound.plan().logits); }
Tensor Program::output_gradient() const { return state_->current().gradient(state_->bound.plan().output); }

void Program::forward(const StepInfo& info, const std::function<void(const LayerImpl&, const Tensor&)>& after) {
  State& s = *state_;
  s.current();
  const std::vector<PlannedStep>& steps = s.bound.plan().steps;
  PassGraphs::Pass pass;
  pass.stream = &s.bound.stream();
  pass.steps = steps.size();
  pass.fixed = [&](std::size_t i) { return steps[i].same_every_step(); };
  pass.issue = [&](std::size_t i, const PassGraphs::Ready&) {
    if (!steps[i].op) return;
    s.watched({i}, false, false, [&] { s.bound.forward(i, &info); });
    if (after) after(*steps[i].layer, s.bound.activation(steps[i].output));
  };
  pass.capture = [&](std::size_t i, const PassGraphs::Ready&) { s.bound.forward(i, nullptr); };
  pass.launch = [&](std::vector<std::size_t> captured, const CapturedGraph& graph) {
    std::erase_if(captured, [&](std::size_t i) { return !steps[i].op; });
    s.watched(captured, false, true, [&] { graph.launch(*pass.stream); });
  };
  s.run(s.forward_graphs, pass, nullptr, after != nullptr);
}

void Program::backward(const StepInfo& info, bool from_logits, const std::function<void(int variable)>& ready) {
  State& s = *state_;
  if (s.mode != Mode::training) throw Error("This program was planned for inference: it has no backward pass");
  s.current();
  // Buckets are cut in the layout's order, so a layer that reports another one must not pass unnoticed.
  const VariableLayout& layout = s.bound.layout();
  const std::vector<int>& order = layout.ready_order();
  std::size_t reported = 0;
  const std::function<void(int)> report = [&](int variable) {
    if (reported >= order.size() || order[reported] != variable)
      throw Error("The gradient of " + layout.specs().at(static_cast<std::size_t>(variable)).name + " was finished out of its order");
    ++reported;
    if (ready) ready(variable);
  };
  const std::vector<PlannedStep>& steps = s.bound.plan().steps;
  const std::size_t last = steps.size() - 1;
  const std::size_t skipped = from_logits && s.bound.plan().softmax_output ? last : steps.size();
  const auto runs_layer = [&](std::size_t i) { return steps[i].runs_backward && steps[i].op && i != skipped; };
  PassGraphs::Pass pass;  // counts from the last step
  pass.stream = &s.bound.stream();
  pass.steps = steps.size();
  pass.fixed = [&](std::size_t k) { return steps[last - k].same_every_step(); };
  pass.issue = [&](std::size_t k, const PassGraphs::Ready& done) {
    const std::size_t i = last - k;
    if (!runs_layer(i)) return s.bound.backward(i, &info, i == skipped, done);
    s.watched({i}, true, false, [&] { s.bound.backward(i, &info, false, done); });
  };
  pass.capture = [&](std::size_t k, const PassGraphs::Ready& done) { s.bound.backward(last - k, nullptr, last - k == skipped, done); };
  pass.launch = [&](const std::vector<std::size_t>& captured, const CapturedGraph& graph) {
    std::vector<std::size_t> in_order;
    for (auto k = captured.rbegin(); k != captured.rend(); ++k)
      if (runs_layer(last - *k)) in_order.push_back(last - *k);
    s.watched(in_order, true, true, [&] { graph.launch(*pass.stream); });
  };
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
