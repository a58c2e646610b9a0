// Building, compiling and looking into a model.
#include "lockstep/model.h"

#include <algorithm>

#include "engine/distribute/replica/replica.h"
#include "engine/distribute/strategy/strategy_impl.h"
#include "engine/nn/functional.h"
#include "engine/nn/summary.h"
#include "engine/train/model_impl.h"

namespace lockstep {

// A GPU that never answers may still use what its streams and the trace hold: freeing that would wait for it without end.
Model::Impl::~Impl() {
  if (!step || step->wait_until_idle()) return;
  static_cast<void>(tracer.release());
  static_cast<void>(std::make_unique<Strategy>(strategy).release());
}

double History::last(const std::string& name) const {
  const auto found = history.find(name);
  if (found != history.end() && !found->second.empty()) return found->second.back();
  std::string known;
  for (const auto& [key, values] : history) known += (known.empty() ? "" : ", ") + key;
  throw Error("History has no \"" + name + "\"; it has: " + (known.empty() ? "nothing yet" : known));
}

Sequential::Sequential(const std::vector<Layer>& layers, const std::string& name) : Model(std::make_shared<Impl>()) {
  impl_->name = name;
  impl_->layers = layers;
  if (!layers.empty()) {
    if (const auto shape = layers.front().impl()->declared_input()) impl_->build(*shape);
  }
}

Model::Model(const KerasTensor& input, const KerasTensor& output, const std::string& name) : impl_(std::make_shared<Impl>()) {
  impl_->name = name;
  impl_->nodes = functional_nodes(input, output);
  impl_->build(input.shape());
}

void Model::compile(Optimizer optimizer, Loss loss, const std::vector<Metric>& metrics, const std::vector<Metric>& weighted_metrics) {
  require_own_scope(impl_->strategy, "compile");
  if (metrics.size() + weighted_metrics.size() + 1 > Replica::kSums)
    throw Error("compile: at most " + std::to_string(Replica::kSums - 1) + " metrics");
  impl_->optimizer = optimizer.impl();
  impl_->loss = loss.impl();
  impl_->metrics.clear();
  for (const Metric& metric : metrics) impl_->metrics.push_back(metric.impl());
  for (const Metric& metric : weighted_metrics) impl_->metrics.push_back(metric.impl());
  impl_->weighted_metrics = weighted_metrics.size();
  impl_->rebuild_where_frozen();
  if (impl_->step) impl_->hand_over_training();
}

std::vector<Layer> Model::layers() const {
  std::vector<Layer> layers;
  if (impl_->graph) {
    for (const Node& node : impl_->graph->nodes()) layers.emplace_back(node.layer);
    return layers;
  }
  for (const Layer& layer : impl_->layers)
    if (!layer.impl()->is_input()) layers.push_back(layer);
  return layers;
}

Layer Model::get_layer(const std::string& name) const {
  for (const Layer& layer : layers())
    if (layer.name() == name) return layer;
  throw Error("get_layer: the model has no layer \"" + name + "\"");
}

void Model::set_trainable(bool yes) {
  for (const Layer& layer : layers()) layer.set_trainable(yes);
}

void Model::set_seed(std::uint64_t seed) {
  impl_->options.seed = seed;
  if (!impl_->step) return;
  impl_->step->set_seed(seed);
  if (impl_->fresh) impl_->initialize_variables();
}

void Model::check_mirrored(bool yes) {
  impl_->options.check_mirrored = yes;
  if (impl_->step) impl_->step->set_check_mirrored(yes);
}

void Model::build(const Shape& sample) { impl_->build(sample); }
Shape Model::input_shape() const {
  impl_->require_built("input_shape");
  return impl_->graph->input();
}

Shape Model::output_shape() const {
  impl_->require_built("output_shape");
  return impl_->graph->output();
}

bool Model::built() const { return impl_->step != nullptr; }
Strategy Model::strategy() const { return impl_->strategy; }
Optimizer Model::optimizer() const {
  impl_->require_compiled("optimizer");
  return Optimizer(impl_->optimizer);
}

std::int64_t Model::count_params() const {
  impl_->require_built("count_params");
  return impl_->graph->layout().parameters();
}

std::int64_t Model::count_trainable_params() const {
  impl_->require_built("count_trainable_params");
  std::int64_t sum = 0;
  for (const VariableSpec& spec : impl_->graph->layout().specs()) sum += spec.trainable ? spec.shape.size() : 0;
  return sum;
}

std::string Model::summary() const {
  impl_->require_built("summary");
  std::optional<OptimizerSize> optimizer;
  if (impl_->compiled() && impl_->step->iterations() > 0) {
    // A count of steps (64 bits), a learning rate unless it follows a schedule, the optimizer's extra numbers, and the slots.
    std::int64_t trained = 0;
    for (const VariableSpec& spec : impl_->graph->layout().specs()) trained += spec.trainable ? spec.shape.size() : 0;
    const std::int64_t floats = trained * impl_->optimizer->slots() + (impl_->optimizer->follows_schedule() ? 0 : 1) +
                                static_cast<std::int64_t>(impl_->optimizer->extra_state(0).size());
    optimizer = OptimizerSize{floats + 1, floats * 4 + 8};
  }
  return summary_text(*impl_->graph, impl_->name, optimizer);
}

std::int64_t Model::iterations() const { return impl_->step ? impl_->step->iterations() : 0; }

std::optional<TrainingPlace> Model::place() const {
  return impl_->place && impl_->place->iterations == iterations() ? impl_->place : std::nullopt;
}

std::vector<std::uint64_t> Model::checksums() const {
  impl_->require_built("checksums");
  impl_->step->replicate_where_due();
  return impl_->step->checksums();
}

Trace Model::trace() const { return impl_->trace; }

std::vector<NamedArray> Model::get_weights() const {
  impl_->require_built("get_weights");
  std::vector<NamedArray> weights;
  const auto& specs = impl_->graph->layout().specs();
  for (std::size_t i = 0; i < specs.size(); ++i) weights.push_back({specs[i].name, impl_->step->read(static_cast<int>(i))});
  return weights;
}

std::vector<NamedArray> Model::get_gradients() const {
  impl_->require_built("get_gradients");
  std::vector<NamedArray> gradients;
  const auto& specs = impl_->graph->layout().specs();
  for (std::size_t i = 0; i < specs.size(); ++i)
    if (specs[i].trainable) gradients.push_back({specs[i].name, impl_->step->read(static_cast<int>(i), {VariablePart::Kind::gradient})});
  return gradients;
}

void Model::set_weights(const std::vector<NamedArray>& weights) {
  impl_->require_built("set_weights");
  const VariableLayout& layout = impl_->graph->layout();
  for (const NamedArray& weight : weights) {
    const int index = layout.find(weight.name);
    if (index < 0) throw Error("set_weights: the model has no variable \"" + weight.name + "\"");
    const VariableSpec& spec = layout.specs()[static_cast<std::size_t>(index)];
    if (spec.shape != weight.values.shape())
      throw Error("set_weights: \"" + weight.name + "\" has shape " + spec.shape.str() + ", not " + weight.values.shape().str());
    impl_->step->write(index, weight.values);
  }
  impl_->step->variables_changed();
  impl_->fresh = false;
}

// Where variables lie depends on which are trained, so freezing or thawing a layer makes them again, with the values they had.
void Model::Impl::rebuild_where_frozen() {
  if (!step) return;
  bool changed = false;
  for (std::size_t i = 0; i < graph->nodes().size(); ++i) {
    const VariableRange own = graph->variables(static_cast<int>(i));
    if (own.first < own.end)
      changed = changed || graph->layout().specs()[static_cast<std::size_t>(own.first)].frozen == graph->nodes()[i].layer->trainable();
  }
  if (!changed) return;
  std::vector<Array> values;
  for (std::size_t i = 0; i < graph->layout().specs().size(); ++i) values.push_back(step->read(static_cast<int>(i)));
  const Shape sample = graph->input();
  step.reset();
  graph.reset();
  make_step(sample);
  for (std::size_t i = 0; i < values.size(); ++i) step->write(static_cast<int>(i), values[i]);
  step->variables_changed();
}

void Model::Impl::build(const Shape& sample) {
  if (step) {
    if (sample != graph->input())
      throw Error("build: the model was built for samples of shape " + graph->input().str() + ", not " + sample.str());
    return;
  }
  make_step(sample);
  if (compiled()) hand_over_training();  // makes the slots, so that phase 1 copies them too
  initialize_variables();
}

void Model::Impl::make_step(const Shape& sample) {
  if (nodes.empty()) {
    std::vector<std::shared_ptr<LayerImpl>> chain;
    for (const Layer& layer : layers) chain.push_back(layer.impl());
    graph = std::make_unique<Graph>(Graph::chain(chain, sample));
  } else {
    graph = std::make_unique<Graph>(Graph::build(nodes, sample, true));
  }
  step = strategy.impl()->make_step(*graph, options, tracer.get());
}

void Model::Impl::initialize_variables() {
  const VariableLayout& layout = graph->layout();
  for (std::size_t i = 0; i < layout.specs().size(); ++i) {
    const VariableSpec& spec = layout.specs()[i];
    step->write(static_cast<int>(i), Array(spec.shape, spec.initializer.values(spec.shape, options.seed, i)));
  }
  step->variables_changed();
}

void Model::Impl::hand_over_training() { step->set_training(loss, optimizer, metrics, weighted_metrics); }

void Model::Impl::require_built(const char* what) const {
  if (!step)
    throw Error(std::string(what) +
                ": the model does not know its input shape yet; give the first layer an input_shape, call build, or fit first");
}

void Model::Impl::require_trainable(const char* what) const {
  if (graph->layout().ready_order().empty())
    throw Error(std::string(what) +
                ": every layer of the model is frozen (trainable is false) or has no weights: there is nothing to train");
}

void Model::Impl::require_compiled(const char* what) const {
  if (!compiled()) throw Error(std::string(what) + ": call compile first");
}

Logs Model::Impl::logs(bool all_workers) const {
  const TrainingStep::Totals totals = step->totals(all_workers);
  const double samples = std::max<double>(1, static_cast<double>(totals.samples));
  Logs logs{{"loss", totals.sums.empty() ? 0 : totals.sums[0] / samples}};
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    const bool weighted = i + weighted_metrics >= metrics.size();
    logs[metrics[i]->name()] = !weighted ? totals.sums[i + 1] / samples : totals.weights != 0 ? totals.sums[i + 1] / totals.weights : 0;
  }
  return logs;
}

}  // namespace lockstep
