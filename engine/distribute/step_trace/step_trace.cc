#include "engine/distribute/step_trace/step_trace.h"

#include <algorithm>
#include <cmath>

#include <backend/watching.h>
#include "engine/ops/clip.h"
#include "simulator/trace/samples.h"

namespace lockstep {
namespace {

constexpr std::int64_t kLossesShown = 64;

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

SpanRecord span_of(const ReplicaSet& replicas, int replica, Phase phase, std::int64_t step) {
  SpanRecord span;
  span.phase = phase;
  span.replica = replicas.place().first_replica + replica;
  span.step = step;
  return span;
}

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

void StepTrace::begin(ReplicaSet& replicas, const StepBatch& batch, std::size_t buckets) {
  Tracer* tracer = of(batch);
  inspects_ = tracer != nullptr && tracer->begin_step(batch.step);
  for (StepReplica& replica : replicas.all) {
    replica.figures.norms_before.assign(inspects_ ? buckets : 0, nullptr);
    replica.figures.norms_after.assign(inspects_ ? buckets : 0, nullptr);
    replica.figures.losses = nullptr;
  }
}

void StepTrace::samples(const ReplicaSet& replicas, const StepBatch& batch) {
  if (of(batch) == nullptr || batch.custom || tracer_->samples_to_keep() <= 0) return;
  const int first_replica = replicas.place().first_replica;
  for (std::size_t r = 0; r < batch.shards.size(); ++r) {
    const Shard& shard = batch.shards[r];
    tracer_->add_samples({batch.step, first_replica + static_cast<int>(r), shard.first, shard.count, tracer_->samples_to_keep()}, batch.x,
                         batch.y);
  }
}

void StepTrace::losses(StepReplica& replica, const StepBatch& batch) {
  if (!inspects_ || !batch.training()) return;
  const auto shown = static_cast<std::size_t>(std::min(replica.input.shard.count, kLossesShown));
  replica.figures.losses =
      static_cast<const float*>(tracer_->read(replica.gpu().compute(), replica.input.losses.raw(), shown * sizeof(float)));
}

void StepTrace::gradient_norm(StepReplica& replica, std::size_t bucket, const Tensor& gradients, Norm when) {
  if (!inspects_) return;
  const Watching watching;
  ReplicaFigures& figures = replica.figures;
  const auto sums_each = static_cast<std::size_t>(ops::kSquareSums);
  const std::size_t bytes = sums_each * sizeof(double), all = 2 * figures.norms_before.size() * bytes;
  if (figures.norms.bytes() < all) {
    figures.norms = Buffer();
    figures.norms = replica.gpu().arena().allocate(all, "replica " + std::to_string(replica.index()) + ": gradient norms for the trace");
  }
  const bool after = when == Norm::after;
  Stream& stream = after ? replica.gpu().communication() : replica.gpu().compute();
  double* sums = figures.norms.data<double>() + (2 * bucket + (after ? 1 : 0)) * sums_each;
  ops::square_sums({&replica.gpu(), &stream, {}}, gradients, sums);
  (after ? figures.norms_after : figures.norms_before)[bucket] = static_cast<const double*>(tracer_->read(stream, sums, bytes));
}

void StepTrace::end(ReplicaSet& replicas, const StepBatch& batch) {
  for (StepReplica& replica : replicas.all) {
    const int number = replicas.place().first_replica + replica.index();
    const bool known = replica.input.program && !batch.custom;
    const std::int64_t samples = replica.input.shard.count;
    tracer_->add_facts(Phase::local_gradients, number, {explain_loss, {known, Facts::from(known ? replica.loss.of_step() : 0), samples}});
    if (!inspects_) continue;
    Details details;
    if (replica.figures.losses != nullptr)
      details.emplace_back("losses", json_floats(replica.figures.losses, std::min(kLossesShown, samples)));
    for (auto& norm : norm_details(replica.figures.norms_before)) details.push_back(std::move(norm));
    tracer_->add_details(Phase::local_gradients, number, std::move(details));
    tracer_->add_details(Phase::update, number, norm_details(replica.figures.norms_after));
  }
}

}  // namespace lockstep
