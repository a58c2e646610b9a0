// A traced step's spans inside the phases, and what a trace says about the run as a whole.
#include "engine/distribute/step/step_trace.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include <backend/watching.h>
#include "engine/distribute/replica/step_switches.h"
#include "engine/distribute/step/mirrored_step_state.h"
#include "engine/ops/clip.h"
#include "simulator/trace/samples.h"

namespace lockstep {

namespace {

void explain_layer(const Facts::Numbers& numbers, Span& span) {
  const auto& [name, layers, classes, backward, graph, live_bytes, one, two] = numbers;
  span.name = Facts::text(name);
  span.details = {{"layers", Facts::text(layers)},
                  {"classes", Facts::text(classes)},
                  {"direction", backward != 0 ? "\"backward\"" : "\"forward\""},
                  {"graph", graph != 0 ? "true" : "false"},
                  {"live bytes", std::to_string(live_bytes)}};
}

void explain_message(const Facts::Numbers& numbers, Span& span) {
  const auto& [bucket, from, to, round, chunk, chunks, bytes, adds] = numbers;
  const std::string& senders = Facts::text(from);  // a JSON list
  span.name = senders.substr(1, senders.size() - 2) + " -> " + std::to_string(to) +
              (chunks > 1 ? " chunk " + std::to_string(chunk) : std::string());
  span.details = {{"bucket", std::to_string(bucket)}, {"from", senders},
                  {"to", std::to_string(to)},         {"round", std::to_string(round)},
                  {"chunk", std::to_string(chunk)},   {"chunks", std::to_string(chunks)},
                  {"bytes", std::to_string(bytes)},   {"adds", adds != 0 ? "true" : "false"}};
}

void explain_loss(const Facts::Numbers& numbers, Span& span) {
  const auto& [known, sum, samples, one, two, three, four, five] = numbers;
  if (known != 0) {
    span.details.emplace_back("loss", json_number(Facts::real(sum) / static_cast<double>(samples)));
    span.details.emplace_back("loss sum", json_number(Facts::real(sum)));
  }
  span.details.emplace_back("samples", std::to_string(samples));
}

}  // namespace

void TracedLayers::begin(const LayerWork& work) {
  std::string layers, classes;
  for (const LayerImpl* layer : work.layers) {
    layers += (layers.empty() ? "[" : ",") + json_text(layer->name());
    classes += (classes.empty() ? "[" : ",") + json_text(layer->class_name());
  }
  const LayerImpl &first = *work.layers.front(), &last = *work.layers.back();
  std::string name = work.graph ? "graph: " + first.name() : first.name();
  if (work.layers.size() > 1) name += (work.layers.size() > 2 ? " ... " : " + ") + last.name();
  SpanRecord span = span_;
  span.facts = {explain_layer,
                {Facts::from(tracer_->text(name)), Facts::from(tracer_->text(layers + "]")), Facts::from(tracer_->text(classes + "]")),
                 work.backward, work.graph, static_cast<std::int64_t>(work.live_bytes)}};
  tracer_->begin_device_span(*stream_, span);
}

void TracedMessages::begin(const Message& message, const Stream& stream, const Tensor& place) {
  SpanRecord span = span_;
  span.replica = first_replica_ + message.to;
  span.communication = true;
  std::string senders;
  for (const int from : message.from) senders += (senders.empty() ? "[" : ",") + std::to_string(first_replica_ + from);
  span.facts = {explain_message,
                {static_cast<std::int64_t>(bucket_), Facts::from(tracer_->text(senders + "]")), span.replica, message.round, message.chunk,
                 message.chunks, static_cast<std::int64_t>(message.bytes), message.adds}};
  tracer_->begin_device_span(stream, span);
  read("before", stream, place);
}

void TracedMessages::end(const Message& /*message*/, const Stream& stream, const Tensor& place) {
  read("values", stream, place);
  tracer_->end_device_span(stream);
}

void TracedMessages::read(const char* name, const Stream& stream, const Tensor& place) {
  const std::int64_t shown = place.defined() ? std::min(kShown, place.size()) : 0;
  if (!partial_sums_ || shown == 0) return;
  tracer_->read(stream, place.raw(), static_cast<std::size_t>(shown) * sizeof(float), [name, shown](const void* bytes, Details& details) {
    details.emplace_back(name, json_floats(static_cast<const float*>(bytes), shown));
  });
}

double norm_of(const double* parts, std::int64_t count) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += parts[i];
  return std::sqrt(sum);
}

std::string json_floats(const float* values, std::int64_t count) {
  std::string text = "[";
  for (std::int64_t i = 0; i < count; ++i) text += (i ? "," : "") + json_number(static_cast<double>(values[i]));
  return text + "]";
}

namespace {

// Of all buckets that were measured: their norms, and that of the whole.
Details norm_details(const std::vector<const double*>& sums_by_bucket) {
  double squares = 0;
  std::string by_bucket;
  for (const double* sums : sums_by_bucket) {
    if (sums == nullptr) continue;
    const double norm = norm_of(sums, ops::kSquareSums);
    squares += norm * norm;
    by_bucket += (by_bucket.empty() ? "" : ",") + json_number(norm);
  }
  if (by_bucket.empty()) return {};
  return {{"gradient norm", json_number(std::sqrt(squares))}, {"gradient norm by bucket", "[" + by_bucket + "]"}};
}

}  // namespace

// A bucket's gradients as they are now, on this stream.
void MirroredStep::State::measure_norm(ReplicaPart& part, const Stream& stream, std::size_t bucket, bool after) {
  const Watching watching;
  const auto sums_each = static_cast<std::size_t>(ops::kSquareSums);
  const std::size_t bytes = sums_each * sizeof(double);
  if (part.norms.bytes() < 2 * buckets.size() * bytes) {
    part.norms = Buffer();
    part.norms = part.replica.gpu().arena().allocate(2 * buckets.size() * bytes,
                                                     "replica " + std::to_string(part.replica.index()) + ": gradient norms for the trace");
  }
  double* sums = part.norms.data<double>() + (2 * bucket + (after ? 1 : 0)) * sums_each;
  Stream& where = &stream == &part.replica.gpu().communication() ? part.replica.gpu().communication() : part.replica.gpu().compute();
  const Tensor gradients(part.replica.variables().gradients().f32() + buckets[bucket].first, {buckets[bucket].count});
  ops::square_sums({&part.replica.gpu(), &where, {}}, gradients, sums);
  (after ? part.norms_after : part.norms_before)[bucket] = static_cast<const double*>(tracer->read(where, sums, bytes));
}

void MirroredStep::State::begin_trace() {
  inspecting = tracer != nullptr && mode == Mode::training && tracer->begin_step(step());
  for (ReplicaPart& part : parts) {
    part.norms_before.assign(inspecting ? buckets.size() : 0, nullptr);
    part.norms_after.assign(inspecting ? buckets.size() : 0, nullptr);
    part.losses_read = nullptr;
    part.loss_before = part.sums_cleared ? 0 : part.loss_sum.value();
  }
}

// While the GPUs are at it: what they were given.
void MirroredStep::State::trace_samples() {
  if (tracer == nullptr || mode != Mode::training || by_hand || tracer->samples_to_keep() <= 0) return;
  const int first_replica = place().first_replica;
  for (std::size_t r = 0; r < shards.size(); ++r) {
    tracer->add_samples({step(), first_replica + static_cast<int>(r), shards[r].first, shards[r].count, tracer->samples_to_keep()}, x, y);
  }
}

// Everything is done, and nothing of it is overwritten yet: what was copied to the host on the way is read.
void MirroredStep::State::trace_figures_of_step() {
  for (ReplicaPart& part : parts) {
    const int replica = span(Phase::local_gradients, part.replica.index()).replica;
    const bool known = part.program && !by_hand;
    const double sum = known ? part.loss_sum.value() - part.loss_before : 0;
    tracer->add_facts(Phase::local_gradients, replica, {explain_loss, {known, Facts::from(sum), part.shard.count}});
    if (!inspecting) continue;
    Details details;
    if (part.losses_read != nullptr)
      details.emplace_back("losses", json_floats(part.losses_read, std::min<std::int64_t>(kLossesShown, part.shard.count)));
    for (auto& norm : norm_details(part.norms_before)) details.push_back(std::move(norm));
    tracer->add_details(Phase::local_gradients, replica, std::move(details));
    tracer->add_details(Phase::update, replica, norm_details(part.norms_after));
  }
}

std::string MirroredStep::about() const {
  const State& state = *state_;
  nlohmann::json json;
  json["algorithm"] = state.cross_device_ops->name();
  json["one copy"] = state.one_copy;
  json["worker"] = state.place().worker;
  json["workers"] = state.place().workers;
  json["replicas"] = state.place().replicas;
  json["first replica"] = state.place().first_replica;
  for (LogicalGpu* gpu : state.gpus) json["devices"].push_back({{"name", gpu->name()}, {"memory limit", gpu->arena().limit()}});
  if (state.loss) json["loss"] = state.loss->name();
  if (state.optimizer) json["optimizer"] = state.optimizer->name();
  json["overlap"] = overlap_from_environment();
  const VariableLayout& layout = state.graph.layout();
  for (std::size_t i = 0; i < state.graph.nodes().size(); ++i) {
    const Node& node = state.graph.nodes()[i];
    nlohmann::json layer = {{"name", node.layer->name()}, {"class", node.layer->class_name()}, {"output", node.output.str()}};
    layer["variables"] = nlohmann::json::array();
    for (int v = state.graph.first_variable(static_cast<int>(i)); v < state.graph.first_variable(static_cast<int>(i) + 1); ++v)
      layer["variables"].push_back(layout.specs()[static_cast<std::size_t>(v)].name);
    json["layers"].push_back(std::move(layer));
  }
  for (const VariableSpec& spec : layout.specs())
    json["variables"].push_back(
        {{"name", spec.name}, {"shape", spec.shape.str()}, {"bytes", spec.shape.size() * 4}, {"trainable", spec.trainable}});
  for (const Bucket& bucket : state.buckets) {
    nlohmann::json one = {{"bytes", bucket.count * 4}, {"sparse", bucket.sparse >= 0}};
    for (const int v : bucket.variables) one["variables"].push_back(layout.specs()[static_cast<std::size_t>(v)].name);
    json["buckets"].push_back(std::move(one));
  }
  json["parameters"] = layout.parameters();
  return json.dump();
}

}  // namespace lockstep
