// Recording, which costs time in a step; resolve.cc makes spans of the records afterwards.
#include "simulator/trace/trace.h"

#include <algorithm>
#include <cstdlib>

#include <backend/watching.h>
#include "engine/device/check.h"
#include "lockstep/error.h"
#include "simulator/trace/tracer_state.h"

namespace lockstep {
namespace {

// The caller has waited for the threads that record, so the records do not change.
DeviceRecord* last_whole(std::map<cudaStream_t, StreamRecords>& streams, Phase phase, int replica) {
  DeviceRecord* last = nullptr;
  for (auto& [handle, records] : streams) {
    for (auto one = records.closed.rbegin(); one != records.closed.rend(); ++one) {
      if (one->depth > 0 || one->record.phase != phase || one->record.replica != replica) continue;
      if (last == nullptr || one->record.step > last->record.step) last = &*one;
      break;
    }
  }
  return last;
}

// A long recording is resolved now and then, between two steps, so that neither events nor kept samples grow without end.
constexpr std::size_t kMostBatches = 64;

}  // namespace

TraceClock trace_clock_from_environment() {
  const char* clock = std::getenv("LOCKSTEP_SIM_CLOCK");
  return clock != nullptr && std::string(clock) == "model" ? TraceClock::events : TraceClock::host;
}

Tracer::Tracer(TraceClock clock, EventTimes times) : state_(std::make_unique<State>()) {
  state_->clock = clock;
  state_->times = times;
  state_->host.reserve(256);
}
Tracer::~Tracer() = default;

TraceClock Tracer::clock() const { return state_->clock; }
std::int64_t Tracer::now_ns() const { return state_->clock == TraceClock::host ? state_->now() : 0; }

void Tracer::set_inspected_steps(std::int64_t steps) { state_->inspected = steps; }
bool Tracer::begin_step(std::int64_t step) {
  if (state_->batches.size() > kMostBatches) resolve();
  if (step != state_->last_step) ++state_->begun;
  state_->last_step = step;
  return state_->begun <= state_->inspected;
}

void Tracer::set_samples_to_keep(int samples) { state_->samples_to_keep = samples; }
int Tracer::samples_to_keep() const { return state_->samples_to_keep; }

const std::string* Tracer::text(const std::string& text) {
  const std::lock_guard lock(state_->mutex);
  return &*state_->texts.insert(text).first;
}

void Tracer::begin_device_span(const Stream& stream, const SpanRecord& record) {
  const Watching watching;
  StreamRecords& records = state_->records_of(stream);
  const auto depth = static_cast<int>(records.open.size());
  records.open.push_back({record, {}, {}, depth, 0, state_->now(), records.take(), records.take(), nullptr});
  records.open.back().begin.record(stream);
}

void Tracer::end_device_span(const Stream& stream, const Facts& facts) {
  const Watching watching;
  StreamRecords& records = state_->records_of(stream);
  if (records.open.empty()) throw Error("Tracer: a device span was ended that was never begun.");
  DeviceRecord& span = records.open.back();
  span.end.record(stream);
  span.at_end = facts;
  span.batch = static_cast<std::int64_t>(state_->batches.size()) - 1;
  records.closed.push_back(std::move(span));
  records.open.pop_back();
}

// Where events are all there is the host's own work has no time.
void Tracer::host_span(const SpanRecord& record, std::int64_t begin_ns, std::int64_t end_ns) {
  if (state_->clock == TraceClock::events) return;
  const std::lock_guard lock(state_->mutex);
  state_->host.push_back({record, begin_ns, end_ns});
}

void Tracer::host_span(Span span) {
  span.host = true;
  span.communication = false;
  const std::lock_guard lock(state_->mutex);
  state_->done.push_back(std::move(span));
}

const void* Tracer::read(const Stream& stream, const void* device, std::size_t bytes, Meaning meaning) {
  void* piece = [&] {
    const std::lock_guard lock(state_->mutex);
    return state_->pieces.take(bytes);
  }();
  const Watching watching;
  const DeviceGuard guard(stream.device());
  LOCKSTEP_CHECK(cudaMemcpyAsync(piece, device, bytes, cudaMemcpyDeviceToHost, stream.get()));
  if (!meaning) return piece;
  StreamRecords& records = state_->records_of(stream);
  if (records.open.empty()) throw Error("Tracer: no span is open to read into.");
  std::unique_ptr<Extras>& extras = records.open.back().extras;
  if (!extras) extras = std::make_unique<Extras>();
  extras->readings.push_back({piece, std::move(meaning)});
  return piece;
}

void Tracer::add_facts(Phase phase, int replica, const Facts& facts) {
  const std::lock_guard lock(state_->mutex);
  if (DeviceRecord* const record = last_whole(state_->streams, phase, replica)) record->afterwards = facts;
}

void Tracer::add_details(Phase phase, int replica, Details details) {
  const std::lock_guard lock(state_->mutex);
  DeviceRecord* const record = last_whole(state_->streams, phase, replica);
  if (record == nullptr) return;
  if (!record->extras) record->extras = std::make_unique<Extras>();
  Details& all = record->extras->details;
  all.insert(all.end(), std::make_move_iterator(details.begin()), std::make_move_iterator(details.end()));
}

void Tracer::end_step(std::int64_t arrived_ns, const std::vector<Barrier>& barriers) {
  const std::lock_guard lock(state_->mutex);
  state_->batches.back() = {arrived_ns, state_->now(), barriers};
  state_->batches.emplace_back();
}

void Tracer::add_samples(const ShardSamples& which, const Array& x, const Array& y) {
  KeptSamples kept = keep_samples(which, x, y);
  const std::lock_guard lock(state_->mutex);
  state_->samples.push_back(std::move(kept));
}

void Tracer::set_about(std::string json) {
  const std::lock_guard lock(state_->mutex);
  state_->rest.about = std::move(json);
}

}  // namespace lockstep
