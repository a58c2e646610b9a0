#include "engine/nn/program_plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "engine/nn/simple_layers.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

class Planner {
 public:
  Planner(const Graph& graph, LogicalGpu& gpu, std::int64_t batch, Mode mode) : graph_(graph), gpu_(gpu), batch_(batch), mode_(mode) {}

  ProgramPlan run() {
    make_steps();
    find_gradients();
    plan_layers();
    place_activations();
    if (mode_ == Mode::training) place_gradients();
    plan_.memory = plan_memory(plan_.lifetimes);
    plan_.live_bytes.resize(static_cast<std::size_t>(plan_.backward_time(0)) + 1);
    for (const Lifetime& one : plan_.lifetimes)
      for (int time = one.first; time <= one.last; ++time) plan_.live_bytes[static_cast<std::size_t>(time)] += one.bytes;
    return std::move(plan_);
  }

 private:
  PlannedValue& value(int i) { return plan_.values[static_cast<std::size_t>(i)]; }
  PlannedStep& step(int i) { return plan_.steps[static_cast<std::size_t>(i)]; }
  int steps() const { return static_cast<int>(plan_.steps.size()); }
  std::size_t bytes(int v) { return static_cast<std::size_t>(value(v).shape.size()) * sizeof(float); }

  int forward_time(int step) const { return plan_.forward_time(step); }
  int loss_time() const { return plan_.loss_time(); }
  int backward_time(int step) const { return plan_.backward_time(step); }
  int end_time() const { return mode_ == Mode::training ? backward_time(0) : loss_time(); }

  int make_memory(std::size_t size, int time) {
    plan_.lifetimes.push_back({size, time, time});
    return static_cast<int>(plan_.lifetimes.size()) - 1;
  }
  void keep_until(int memory, int time) {
    Lifetime& life = plan_.lifetimes[static_cast<std::size_t>(memory)];
    life.last = std::max(life.last, time);
  }

  int add_step(const LayerImpl* layer, std::vector<int> inputs, const Shape& sample) {
    PlannedValue made;
    made.shape = sample.batched(batch_);
    made.producer = steps();
    PlannedStep s;
    s.layer = layer;
    s.layers = {layer};
    s.inputs = std::move(inputs);
    s.output = static_cast<int>(plan_.values.size());
    for (const int in : s.inputs) value(in).consumers.push_back(steps());
    plan_.values.push_back(std::move(made));
    plan_.steps.push_back(std::move(s));
    return plan_.steps.back().output;
  }

  // Nodes that read each node's output.
  std::vector<int> count_readers() const {
    std::vector<int> readers(graph_.nodes().size(), 0);
    for (const Node& node : graph_.nodes())
      for (const int from : node.inputs)
        if (from >= 0) ++readers[static_cast<std::size_t>(from)];
    return readers;
  }

  // A ReLU or a max pooling that alone reads the output of a layer which can do it as well (BatchNormalization, Conv2D) is fused into that
  // layer's step: one pass over memory less each way.
  bool takes_over(const Node& node, const std::vector<int>& inputs) {
    if (node.inputs.size() != 1 || node.inputs[0] < 0) return false;
    if (readers_[static_cast<std::size_t>(node.inputs[0])] != 1 || value(inputs[0]).producer < 0) return false;
    PlannedStep& before = step(value(inputs[0]).producer);
    if (before.op || before.fused.relu || before.fused.pooling != nullptr) return false;
    if (node.layer->relu() && before.layer->takes_relu()) {
      before.fused.relu = node.layer->relu();
      before.layers.push_back(node.layer.get());
      return true;
    }
    if (!before.layer->takes_pooling(*node.layer, value(before.inputs.at(0)).shape.sample())) return false;
    before.fused.pooling = node.layer.get();
    before.layers.push_back(node.layer.get());
    value(inputs[0]).shape = node.output.batched(batch_);
    return true;
  }

  // Padding that only one layer reads, and that layer counts zeros outside its input by itself, is fused too. Returns the layer's node.
  std::optional<std::size_t> reader_that_pads(std::size_t padding) const {
    const std::vector<Node>& nodes = graph_.nodes();
    if (!nodes[padding].layer->border() || readers_[padding] != 1) return std::nullopt;
    for (std::size_t i = padding + 1; i < nodes.size(); ++i)
      if (nodes[i].inputs == std::vector<int>{static_cast<int>(padding)} && nodes[i].layer->takes_border()) return i;
    return std::nullopt;
  }

  // A step for each layer, and one more behind each that ends in a softmax.
  void make_steps() {
    plan_.input_type = graph_.input_type();
    PlannedValue input;
    input.shape = graph_.input().batched(batch_);
    plan_.values.push_back(std::move(input));
    readers_ = count_readers();
    std::vector<int> made;                       // by node
    std::map<std::size_t, std::size_t> borders;  // of nodes that see zeros: the padding's node
    for (std::size_t i = 0; i < graph_.nodes().size(); ++i) {
      const Node& node = graph_.nodes()[i];
      std::vector<int> inputs;
      for (const int from : node.inputs) inputs.push_back(from < 0 ? 0 : made[static_cast<std::size_t>(from)]);
      if (takes_over(node, inputs)) {
        made.push_back(inputs[0]);
        plan_.logits = inputs[0];
        plan_.softmax_output = false;
        continue;
      }
      if (const auto reader = reader_that_pads(i)) {
        borders[*reader] = i;
        made.push_back(inputs[0]);
        continue;
      }
      int output = add_step(node.layer.get(), std::move(inputs), node.output);
      PlannedStep& s = plan_.steps.back();
      if (const auto padding = borders.find(i); padding != borders.end()) {
        const LayerImpl* const layer = graph_.nodes()[padding->second].layer.get();
        s.fused.border = *layer->border();
        s.layers.insert(s.layers.begin(), layer);
      }
      s.variables = graph_.variables(static_cast<int>(i));
      for (int v = s.variables.first; v < s.variables.end; ++v)
        s.trained = s.trained || graph_.layout().specs()[static_cast<std::size_t>(v)].trainable;
      plan_.logits = output;
      plan_.softmax_output = node.layer->ends_in_softmax();
      if (node.layer->ends_in_softmax()) {
        output = add_step(node.layer.get(), {output}, node.output);
        plan_.steps.back().op = make_softmax_op();
      }
      made.push_back(output);
    }
    plan_.output = made.back();
  }

  // A gradient is wanted where something trained stands at the value or before it: so not that of the model's input.
  void find_gradients() {
    if (mode_ != Mode::training) return;
    for (int i = 0; i < steps(); ++i) {
      bool wanted = step(i).trained;
      for (const int in : step(i).inputs) wanted = wanted || value(in).wants_gradient;
      value(step(i).output).wants_gradient = wanted;
      step(i).runs_backward = wanted;
    }
  }

  void plan_layers() {
    for (int i = 0; i < steps(); ++i) {
      PlannedStep& s = step(i);
      if (!s.op && !s.layer->is_reshape()) {
        LayerPlan plan;
        plan.gpu = &gpu_;
        plan.mode = mode_;
        plan.output = value(s.output).shape;
        plan.fused = s.fused;
        plan.frozen = !s.layer->trainable();
        plan.needs_input_gradient = false;
        for (const int in : s.inputs) {
          plan.inputs.push_back(value(in).shape);
          plan.needs_input_gradient = plan.needs_input_gradient || value(in).wants_gradient;
        }
        s.op = s.layer->plan(plan);
      }
      if (!s.op) continue;
      const std::size_t scratch = s.op->scratch_bytes();
      if (scratch > 0) s.forward_scratch = make_memory(scratch, forward_time(i));
      if (scratch > 0 && s.runs_backward) s.backward_scratch = make_memory(scratch, backward_time(i));
      if (s.runs_backward && !s.trained && s.variables.first < s.variables.end)
        s.unread_gradients = make_memory(largest_variable(s), backward_time(i));
      if (s.op->saved_bytes() > 0) {
        s.saved = make_memory(s.op->saved_bytes(), forward_time(i));
        if (s.runs_backward) keep_until(s.saved, backward_time(i));
      }
    }
  }

  std::size_t largest_variable(const PlannedStep& s) const {
    std::int64_t elements = 0;
    for (int v = s.variables.first; v < s.variables.end; ++v)
      elements = std::max(elements, graph_.layout().specs()[static_cast<std::size_t>(v)].shape.size());
    return static_cast<std::size_t>(elements) * sizeof(float);
  }

  // May this step write over its input? Only where nothing reads the input again: no other layer, no backward, no loss.
  bool may_overwrite_input(const PlannedStep& s) {
    if (!s.op || !s.op->in_place() || s.inputs.size() != 1) return false;
    if (s.runs_backward && s.op->needs_input()) return false;
    int v = s.inputs[0];
    while (true) {
      if (v == 0 || v == plan_.logits || v == plan_.output || value(v).consumers.size() != 1) return false;
      const PlannedStep& producer = step(value(v).producer);
      if (producer.op) return !(producer.runs_backward && producer.op->needs_output());
      v = producer.inputs[0];
    }
  }

  void place_activations() {
    value(0).memory = make_memory(bytes(0), 0);
    for (int i = 0; i < steps(); ++i) {
      PlannedStep& s = step(i);
      const bool shares = !s.op || may_overwrite_input(s);
      const int memory = shares ? value(s.inputs[0]).memory : make_memory(bytes(s.output), forward_time(i));
      value(s.output).memory = memory;
      keep_until(memory, forward_time(i));
      for (const int in : s.inputs) keep_until(value(in).memory, forward_time(i));
      if (!s.op || !s.runs_backward) continue;
      if (s.op->needs_output()) keep_until(memory, backward_time(i));
      if (s.op->needs_input())
        for (const int in : s.inputs) keep_until(value(in).memory, backward_time(i));
    }
    keep_until(value(plan_.output).memory, end_time());
    keep_until(value(plan_.logits).memory, end_time());
  }

  // From the loss backwards. The first consumer to run writes a value's gradient; further ones are added to it.
  void place_gradients() {
    if (!value(plan_.output).wants_gradient) return;
    value(plan_.output).gradient = make_memory(bytes(plan_.output), loss_time());
    for (int i = steps() - 1; i >= 0; --i) {
      PlannedStep& s = step(i);
      if (!s.runs_backward) continue;
      const int time = backward_time(i);
      const int from = value(s.output).gradient;
      keep_until(from, time);
      const bool same_place = !s.op || s.op->in_place();
      // What passes unchanged needs no copy for one input, nor for those to whose gradient it is added. (Not where an input
      // stands twice: then the sum would change what has yet to be passed on.)
      const bool passes_on = s.op && s.op->hands_gradient_on() && std::set<int>(s.inputs.begin(), s.inputs.end()).size() == s.inputs.size();
      bool given_away = false;
      for (const int in : s.inputs) {
        PlannedValue& to = value(in);
        const bool first = to.gradient == kNowhere;
        const bool shares = same_place || (passes_on && (!first || !given_away));
        if (passes_on && first && to.wants_gradient) given_away = true;
        const int place = !to.wants_gradient ? kNowhere : (shares ? from : make_memory(bytes(in), time));
        s.input_gradients.push_back({place, place != kNowhere && !first});
        if (place == kNowhere) continue;
        if (first) to.gradient = place;
        keep_until(to.gradient, time);
      }
    }
    keep_until(value(plan_.logits).gradient, loss_time());
  }

  const Graph& graph_;
  LogicalGpu& gpu_;
  std::int64_t batch_;
  Mode mode_;
  std::vector<int> readers_;  // by node
  ProgramPlan plan_;
};

}  // namespace

ProgramPlan plan_program(const Graph& graph, LogicalGpu& gpu, std::int64_t batch, Mode mode) {
  if (batch < 1) throw Error("A program needs a batch of at least one sample, not " + std::to_string(batch));
  return Planner(graph, gpu, batch, mode).run();
}

}  // namespace lockstep
