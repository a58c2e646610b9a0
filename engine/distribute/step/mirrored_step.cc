// The step as a whole: how the phases follow one another, and what a program sees of it.
#include "engine/distribute/step/mirrored_step.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include <backend/watching.h>
#include "engine/device/check.h"
#include "engine/device/range.h"
#include "engine/distribute/replica/step_switches.h"
#include "engine/distribute/step/mirrored_step_state.h"
#include "engine/ops/elementwise.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

std::vector<int> cards_of(const std::vector<LogicalGpu*>& gpus) {
  std::vector<int> cards;
  cards.reserve(gpus.size());
  for (const LogicalGpu* gpu : gpus) cards.push_back(gpu->physical());
  return cards;
}

// A GPU that failed makes calls for others fail too, those that wait for its events: the news is the GPU.
std::string blame(const std::string& text, const std::set<std::size_t>& lost) {
  const std::string word = "replica ";
  if (lost.empty()) return text;
  if (text.rfind("phase ", 0) == 0) return word + std::to_string(*lost.begin()) + ", " + text;
  if (text.rfind(word, 0) != 0) return text;
  std::size_t end = word.size();
  while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
  const std::size_t named = std::stoul(text.substr(word.size(), end - word.size()));
  return lost.count(named) ? text : word + std::to_string(*lost.begin()) + text.substr(end);
}

}  // namespace

bool graphs_from_environment() {
  const char* text = std::getenv("LOCKSTEP_GRAPHS");
  const std::string word = text != nullptr && *text != '\0' ? text : "off";
  if (word != "on" && word != "off") throw Error("LOCKSTEP_GRAPHS=" + word + " is neither `on` nor `off`.");
  return word == "on";
}

MirroredStep::State::State(const Graph& graph_, std::vector<LogicalGpu*> gpus_, std::shared_ptr<CrossDeviceOps> cross_device_ops_,
                           StepOptions options_, Tracer* tracer_)
    : graph(graph_),
      gpus(std::move(gpus_)),
      cross_device_ops(std::move(cross_device_ops_)),
      options(options_),
      tracer(tracer_),
      one_copy(gpus.size() > 1 && cross_device_ops->one_copy()),
      buckets(make_buckets(graph.layout(), bucket_bytes_from_environment(options.bucket_bytes),
                           std::min(options.first_bucket_bytes, bucket_bytes_from_environment(options.first_bucket_bytes)), 256 << 10)),
      last_variable(graph.layout().specs().size(), -1),
      group(gpus),
      phase_times(gpus.size()),
      threads(cards_of(gpus)) {
  if (gpus.empty()) throw Error("A step needs at least one GPU.");
  if (options.check_mirrored) require_copies();
  for (const Node& node : graph.nodes()) {
    if (place().workers > 1 && node.layer->sums_over_replicas())
      throw Error(node.layer->class_name() + " \"" + node.layer->name() +
                  "\": synchronized statistics need all replicas in one process; with several workers use the replicas' own");
  }
  std::int64_t largest = 0;
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    nlohmann::json names = nlohmann::json::array();
    for (const int variable : buckets[b].variables) names.push_back(graph.layout().specs()[static_cast<std::size_t>(variable)].name);
    bucket_contents.push_back(names.dump());
    last_variable[static_cast<std::size_t>(buckets[b].variables.back())] = static_cast<std::int64_t>(b);
    largest = std::max(largest, buckets[b].count);
  }
  const bool many = cross_device_ops->place(static_cast<int>(gpus.size())).replicas > 1;  // else nobody waits for a bucket
  segment_ends.resize(last_variable.size());
  for (std::size_t v = 0; v < last_variable.size(); ++v) segment_ends[v] = last_variable[v] >= 0 && many;
  exchanges.resize(buckets.size());
  for (std::size_t i = 0; i < graph.nodes().size() && many; ++i) {
    if (graph.nodes()[i].inputs != std::vector<int>{-1}) continue;  // rows are known where they are the model's input
    for (std::size_t b = 0; b < buckets.size(); ++b) {
      if (buckets[b].sparse < 0 || buckets[b].sparse != graph.first_variable(static_cast<int>(i))) continue;
      const Shape& table = graph.layout().specs()[static_cast<std::size_t>(buckets[b].sparse)].shape;
      exchanges[b] = place().workers > 1 ? std::make_unique<SparseExchange>(gpus, table, options.sparse_gradients, *cross_device_ops)
                                         : std::make_unique<SparseExchange>(gpus, table, options.sparse_gradients, one_copy);
    }
  }
  for (std::size_t r = 0; r < gpus.size(); ++r) {
    ReplicaPart& part = parts.emplace_back(static_cast<int>(r), *gpus[r], graph, one_copy && r > 0 ? &parts.front().replica : nullptr);
    for (std::size_t b = 0; b < buckets.size() + 1; ++b) part.bucket_ready.emplace_back(gpus[r]->physical());
  }
  cross_device_ops->prepare(gpus, std::max(largest, graph.layout().state_elements()));
}

bool MirroredStep::State::comes_to_rest(const Deadline& patience) {
  bool at_rest = threads.drain(patience);
  for (ReplicaPart& part : parts) {
    for (Stream* stream : {&part.replica.gpu().compute(), &part.replica.gpu().communication()}) {
      try {
        part.finished.record(*stream);
        at_rest = wait_until_done(part.finished, patience) && at_rest;
      } catch (const Error&) {  // the GPU is lost: nothing to wait for, and an Error was thrown before
        continue;
      }
    }
  }
  return at_rest;
}

void MirroredStep::State::require_copies() const {
  if (one_copy)
    throw Error("check_mirrored: \"one-copy\" has one shared copy: nothing to compare. Choose another algorithm, or leave out the check.");
}

SpanRecord MirroredStep::State::span(Phase phase, int replica) const {
  SpanRecord span;
  span.phase = phase;
  span.replica = place().first_replica + replica;
  span.step = step();
  return span;
}

StepInfo MirroredStep::State::info(const ReplicaPart& part) {
  StepInfo info{options.seed, batch_number(), part.shard.first, x.samples()};
  if (mode == Mode::training && replicas() > 1) {
    info.group = &group;
    info.member = part.replica.index();
  }
  return info;
}

void MirroredStep::State::guarded(const std::function<void()>& body) {
  if (!broken.empty()) {
    throw Error(
        "This model can't go on, since an earlier step did not end and its replicas may differ; make it anew and load its weights. " +
        std::string("What happened: ") + broken);
  }
  deadline.emplace(options.deadline_seconds);
  try {
    body();
  } catch (const std::exception& error) {
    const Deadline patience(std::max(0.0, std::chrono::duration<double>(deadline->at() - Deadline::Clock::now()).count()));
    cross_device_ops->abort();
    bool at_rest = threads.drain(patience);
    std::set<std::size_t> lost;
    for (ReplicaPart& part : parts) {
      for (Stream* stream : {&part.replica.gpu().compute(), &part.replica.gpu().communication()}) {
        try {
          part.finished.record(*stream);
          at_rest = wait_until_done(part.finished, patience) && at_rest;
        } catch (const Error&) {
          lost.insert(static_cast<std::size_t>(part.replica.index()));
        }
      }
    }
    const std::string text = blame(error.what(), lost);
    if (!at_rest || !lost.empty() || updating) broken = text;
    throw Error(text);
  }
}

void MirroredStep::State::begin(Mode new_mode, const Array& new_x, const Array& new_y, const Array& new_weights) {
  by_hand = false;  // a custom loop's step that failed is over
  mode = new_mode;
  x = new_x;
  y = new_y;
  weights = new_weights;
}

void MirroredStep::State::count_samples() {
  samples += x.samples();
  if (weights.empty()) {
    weight_sum += static_cast<double>(x.samples());
    return;
  }
  for (std::int64_t i = 0; i < weights.size(); ++i) weight_sum += static_cast<double>(weights.data<float>()[i]);
}

// A step made by hand has no marks of its own.
void MirroredStep::State::count_times() {
  if (by_hand || !phase_times.under_way()) return;
  std::vector<const PhaseMarks*> marks;
  for (std::size_t r = 0; r < parts.size(); ++r) {
    marks.push_back(&parts[r].marks);
    if (parts[r].program) phase_times.add_samples(r, parts[r].shard.count, parts[r].loss_sum.value() - parts[r].loss_before);
  }
  phase_times.end_step(marks, updates());
}

void MirroredStep::State::wait_for_gpus(Phase phase) {
  for (std::size_t r = 0; r < parts.size(); ++r) {
    serve(r, phase, [&, &part = parts[r]] {
      part.reduced.record(part.replica.gpu().communication());
      part.replica.gpu().compute().wait(part.reduced);
      part.finished.record(part.replica.gpu().compute());
    });
  }
  std::vector<const ReplicaPart*> late;
  for (ReplicaPart& part : parts) {
    bool done = false;
    serve(static_cast<std::size_t>(part.replica.index()), phase, [&] {
      while (!(done = wait_until_done(part.finished, Deadline(0.2))) && !deadline->passed()) cross_device_ops->check();
    });
    if (!done) late.push_back(&part);
  }
  if (!late.empty()) throw Error(who_is_late(late, phase));
  cross_device_ops->check();
}

// Those who wait for somebody else in the all-reduce are late as well; the ones to name are the furthest behind.
std::string MirroredStep::State::who_is_late(const std::vector<const ReplicaPart*>& late, Phase phase) const {
  const auto reached = [&](const ReplicaPart& part) {
    for (const Event& ready : part.bucket_ready) {
      if (!ready.done()) return Phase::local_gradients;
    }
    return part.reduced.done() ? phase : Phase::all_reduce;
  };
  Phase first = phase;
  for (const ReplicaPart* part : late) first = std::min(first, reached(*part));
  std::string names;
  for (const ReplicaPart* part : late) {
    if (reached(*part) == first) names += (names.empty() ? "replica " : ", replica ") + std::to_string(part->replica.index());
  }
  const bool alone = place().workers == 1;
  return names + ", " + where(first) + ": the GPU had not finished after " + std::to_string(options.deadline_seconds) + " seconds (" +
         (alone ? "StepOptions::deadline_seconds)." : "LOCKSTEP_DEADLINE). It waits for another worker, which does not answer.");
}

MirroredStep::MirroredStep(const Graph& graph, std::vector<LogicalGpu*> gpus, std::shared_ptr<CrossDeviceOps> cross_device_ops,
                           StepOptions options, Tracer* tracer)
    : state_(std::make_unique<State>(graph, std::move(gpus), std::move(cross_device_ops), options, tracer)) {}

// Memory goes back only when no GPU uses it any more. One that never answers would be waited for without end by the calls that free it:
// what it may still use stays until the process ends.
MirroredStep::~MirroredStep() {
  if (!comes_to_rest()) static_cast<void>(state_.release());
}
bool MirroredStep::comes_to_rest() {
  State& state = *state_;
  state.unanswered = !state.comes_to_rest(Deadline(state.unanswered ? 0 : state.options.deadline_seconds));
  return !state.unanswered;
}

int MirroredStep::replicas() const { return state_->replicas(); }
Replica& MirroredStep::replica(int index) { return state_->parts.at(static_cast<std::size_t>(index)).replica; }
std::vector<ReplicaTimes> MirroredStep::times() const { return state_->phase_times.replicas(); }
int MirroredStep::first_replica() const { return state_->place().first_replica; }
void MirroredStep::set_tracer(Tracer* tracer) { state_->tracer = tracer; }
void MirroredStep::set_check_mirrored(bool yes) {
  if (yes) state_->require_copies();
  state_->options.check_mirrored = yes;
}
bool MirroredStep::one_copy() const { return state_->one_copy; }
void MirroredStep::set_seed(std::uint64_t seed) { state_->options.seed = seed; }
std::int64_t MirroredStep::iterations() const { return state_->iterations; }
void MirroredStep::set_iterations(std::int64_t iterations) { state_->iterations = iterations; }

void MirroredStep::set_training(std::shared_ptr<LossImpl> loss, std::shared_ptr<OptimizerImpl> optimizer,
                                std::vector<std::shared_ptr<MetricImpl>> metrics, std::size_t weighted) {
  if (static_cast<int>(metrics.size()) >= Replica::kSums) {
    throw Error("At most " + std::to_string(Replica::kSums - 1) + " metrics can be kept, not " + std::to_string(metrics.size()) + ".");
  }
  state_->loss = std::move(loss);
  if (optimizer->accumulation_steps() > 1 && optimizer->sums_squares())
    throw Error(
        "gradient_accumulation_steps and embedding_gradients(\"keras\") can't be used together: squares of sums over batches are lost");
  state_->optimizer = std::move(optimizer);
  state_->accumulated = 0;
  state_->metrics = std::move(metrics);
  state_->first_weighted = state_->metrics.size() - std::min(weighted, state_->metrics.size());
  if (state_->parts.front().replica.variables().slots() != state_->optimizer->slots()) state_->mirrored = false;  // phase 1 copies them
  for (ReplicaPart& part : state_->parts) {
    part.replica.variables().make_slots(state_->optimizer->slots());
    part.replica.variables().make_squares(state_->optimizer->sums_squares());
    if (state_->optimizer->accumulation_steps() > 1)
      reserve(part, part.accumulated, part.replica.variables().gradients().bytes(), "gradients that wait for their update");
  }
  clear_totals();
}

void MirroredStep::train(const Array& x, const Array& y, const Array& weights) {
  State& state = *state_;
  if (!state.loss || !state.optimizer) throw Error("A model is trained once it is compiled with a loss and an optimizer.");
  state.guarded([&] {
    const Range range("step", state.step());
    state.begin(Mode::training, x, y, weights);
    if (!state.mirrored) replicate();
    state.begin_trace();
    state.phase_times.begin_step();
    shard(x, y);
    local_gradients();
    all_reduce();
    require_finite_loss();
    finish();
    state.count_samples();
  });
}

// Phases 5 and 6, where this batch completes an update.
void MirroredStep::finish() {
  State& state = *state_;
  if (!state.updates()) {
    state.wait_for_gpus(Phase::barrier);
    state.count_times();
    ++state.accumulated;
    return;
  }
  state.updating = true;
  update();
  barrier();
  state.updating = false;
  state.accumulated = 0;
  ++state.iterations;
}

void MirroredStep::evaluate(const Array& x, const Array& y, const Array& weights) {
  State& state = *state_;
  if (!state.loss) throw Error("A model is evaluated once it is compiled with a loss.");
  state.guarded([&] {
    const Range range("evaluate");
    state.begin(Mode::inference, x, y, weights);
    if (!state.mirrored) replicate();
    shard(x, y);
    local_gradients();  // in inference: forward, loss and metrics
    state.threads.wait(*state.deadline);
    state.count_samples();
  });
}

Array MirroredStep::predict(const Array& x) {
  State& state = *state_;
  Array result(state.graph.output().batched(x.samples()));
  state.guarded([&] {
    const Range range("predict");
    state.begin(Mode::inference, x, Array(), Array());
    if (!state.mirrored) replicate();
    shard(x, Array());
    const std::int64_t row = state.graph.output().size();
    state.threads.run(
        "predict",
        [&state, result, row](int r) mutable {
          ReplicaPart& part = state.parts[static_cast<std::size_t>(r)];
          if (!part.program) return;
          part.program->forward(state.info(part));
          ops::download(part.replica.compute_context(), part.program->output(), result.data<float>() + part.shard.first * row);
        },
        *state.deadline);
    state.wait_for_gpus(Phase::barrier);
  });
  return result;
}

bool MirroredStep::any_worker(bool yes) {
  State& state = *state_;
  if (state.place().workers == 1) return yes;
  std::uint64_t any = 0;
  state.guarded([&] {
    for (const std::uint64_t one : state.cross_device_ops->gather(std::vector<std::uint64_t>(state.parts.size(), yes), 1, *state.deadline))
      any |= one;
  });
  return any != 0;
}

bool MirroredStep::workers_agree(std::uint64_t value) {
  State& state = *state_;
  if (state.place().workers == 1) return true;
  bool equal = true;
  state.guarded([&] {
    for (const std::uint64_t one :
         state.cross_device_ops->gather(std::vector<std::uint64_t>(state.parts.size(), value), 1, *state.deadline))
      equal = equal && one == value;
  });
  return equal;
}

MirroredStep::Totals MirroredStep::totals(bool all_workers) {
  State& state = *state_;
  Totals totals;
  totals.sums.assign(1 + state.metrics.size(), 0.0);
  totals.samples = state.samples;
  totals.weights = state.weight_sum;
  const Watching watching;
  state.guarded([&] {
    state.wait_for_gpus(Phase::barrier);
    std::vector<std::uint64_t> rows;  // of doubles; added in the order of the replicas, whichever worker they belong to
    for (ReplicaPart& part : state.parts) {
      std::array<double, Replica::kSums> sums{};
      part.replica.read_sums(sums.data());
      for (std::size_t i = 0; i < totals.sums.size(); ++i) rows.push_back(std::bit_cast<std::uint64_t>(sums[i]));
    }
    if (all_workers) {
      rows = state.cross_device_ops->gather(rows, totals.sums.size(), *state.deadline);
    } else {
      totals.samples = totals.samples * state.replicas() / state.place().replicas;
      totals.weights = totals.weights * state.replicas() / state.place().replicas;
    }
    for (std::size_t i = 0; i < rows.size(); ++i) totals.sums[i % totals.sums.size()] += std::bit_cast<double>(rows[i]);
  });
  return totals;
}

void MirroredStep::clear_totals() {
  for (ReplicaPart& part : state_->parts) {
    part.replica.clear_sums();
    part.sums_cleared = true;
  }
  state_->samples = 0;
  state_->weight_sum = 0;
}

}  // namespace lockstep
