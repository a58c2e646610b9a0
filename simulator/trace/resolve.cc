// Times and texts for what was recorded.
//
// Virtual events know when they happened on the host's clock, or on the modelled one. Events of real GPUs only know the time between
// themselves, so a device's events of each step are tied to the host's clock by cause and effect: an event happened no earlier than the
// host asked for it, and no later than the host saw all of the step done. The middle of what is left is taken (as NTP does with its round
// trips). No event is recorded and no thread waits for this alone.
#include <algorithm>
#include <cmath>
#include <limits>

#include <backend/host_clock.h>
#include "lockstep/error.h"
#include "simulator/trace/tracer_state.h"

namespace lockstep {
namespace {

// Nanoseconds from the first record's begin to this event.
double since(const DeviceRecord& first, const Event& event) { return static_cast<double>(event.milliseconds_since(first.begin)) * 1e6; }

// When the first record began, on the host's clock.
double tied_to_host(const std::vector<DeviceRecord*>& records, std::int64_t seen_ns) {
  double low = 0, high = std::numeric_limits<double>::infinity();
  for (const DeviceRecord* one : records) {
    low = std::max(low, static_cast<double>(one->asked_ns) - since(*records.front(), one->begin));
    high = std::min(high, static_cast<double>(seen_ns) - since(*records.front(), one->end));
  }
  return low <= high ? (low + high) / 2 : low;
}

void explain(const Facts& facts, Span& span) {
  if (facts.explain != nullptr) facts.explain(facts.numbers, span);
}

}  // namespace

void Tracer::State::resolve_device(const Batch& batch, std::vector<DeviceRecord*>& records) {
  const bool by_host = clock == TraceClock::host;
  const std::int64_t seen_ns = batch.arrived_ns >= 0 ? batch.arrived_ns : now();
  const std::int64_t start_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(start.time_since_epoch()).count();
  std::int64_t ignored = 0;
  const bool absolute = times == EventTimes::absolute_where_known && event_clock_ns(records.front()->begin.get(), &ignored);
  const double tied = absolute ? 0 : tied_to_host(records, seen_ns);
  const auto ns = [&](const Event& event) -> std::int64_t {
    if (!absolute) return std::llround(tied + since(*records.front(), event));
    std::int64_t at = 0;
    event_clock_ns(event.get(), &at);
    return at - (by_host ? start_ns : zero_ns);
  };

  std::vector<std::pair<std::int64_t, DeviceRecord*>> order;
  order.reserve(records.size());
  for (DeviceRecord* one : records) order.emplace_back(ns(one->begin), one);
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::map<std::pair<int, bool>, std::int64_t> ends = track_end;
  for (auto& [begin, one] : order) {
    Span span = one->record.span();
    span.depth = one->depth;
    explain(one->at_end, span);
    explain(one->afterwards, span);
    const std::pair<int, bool> track(span.replica, span.communication);
    const std::int64_t floor = track_end[track];  // the end of the step before, whose estimated times may be a little late
    span.begin_ns = std::max(floor, begin);
    span.end_ns = std::max(span.begin_ns, ns(one->end));
    ends[track] = std::max(ends[track], span.end_ns);
    device_end[span.replica] = std::max(device_end[span.replica], span.end_ns);
    if (one->extras) {
      for (auto& detail : one->extras->details) span.details.push_back(std::move(detail));
      for (const Reading& reading : one->extras->readings) reading.meaning(reading.bytes, span.details);
    }
    done.push_back(std::move(span));
  }
  track_end = std::move(ends);
}

// A replica arrives when its GPU is done and leaves when all have arrived, and were compared.
void Tracer::State::resolve_barriers(const Batch& batch) {
  std::int64_t last = 0;
  for (const Barrier& barrier : batch.barriers) last = std::max(last, device_end[barrier.record.replica]);
  const std::int64_t left = clock == TraceClock::host ? std::max(last, batch.left_ns) : last;
  for (const Barrier& barrier : batch.barriers) {
    Span span = barrier.record.span();
    span.host = true;
    span.begin_ns = device_end[span.replica];
    span.end_ns = left;
    if (barrier.compared && clock == TraceClock::host) {
      Span comparing;
      comparing.phase = span.phase;
      comparing.name = "checksums";
      comparing.replica = span.replica;
      comparing.step = span.step;
      comparing.host = true;
      comparing.depth = 1;
      comparing.begin_ns = last;
      comparing.end_ns = left;
      done.push_back(std::move(comparing));
    }
    done.push_back(std::move(span));
  }
}

// By events alone time begins with the first of them, on whichever device.
void Tracer::State::find_zero(const RecordsByDevice& by_device) {
  if (clock == TraceClock::host || zero_ns >= 0) return;
  for (const auto& [key, records] : by_device) {
    for (const DeviceRecord* one : records) {
      std::int64_t at = 0;
      if (event_clock_ns(one->begin.get(), &at) && (zero_ns < 0 || at < zero_ns)) zero_ns = at;
    }
  }
}

void Tracer::State::resolve() {
  // By step, then by device, then in the order of the records of a stream, and streams by what is on them: the same every time.
  RecordsByDevice by_device;
  std::vector<StreamRecords*> in_order;
  for (auto& [handle, records] : streams)
    if (!records.closed.empty()) in_order.push_back(&records);
  std::sort(in_order.begin(), in_order.end(), [](const StreamRecords* a, const StreamRecords* b) {
    const SpanRecord &x = a->closed.front().record, &y = b->closed.front().record;
    return std::pair(x.replica, x.communication) < std::pair(y.replica, y.communication);
  });
  for (StreamRecords* records : in_order)
    for (DeviceRecord& one : records->closed) by_device[{one.batch, records->device}].push_back(&one);

  for (auto& [key, records] : by_device) {
    try {
      for (const DeviceRecord* one : records) one->end.synchronize();
    } catch (const Error&) {  // the GPU is lost; the call that waited for it reports the error
      records.clear();
    }
  }
  find_zero(by_device);
  for (std::size_t b = 0; b < batches.size(); ++b) {
    const auto batch = static_cast<std::int64_t>(b);
    for (auto at = by_device.lower_bound({batch, 0}); at != by_device.end() && at->first.first == batch; ++at)
      if (!at->second.empty()) resolve_device(batches[b], at->second);
    resolve_barriers(batches[b]);
  }
  for (const HostRecord& one : host) {
    Span span = one.record.span();
    span.host = true;
    span.communication = false;
    span.depth = 1;
    span.begin_ns = one.begin_ns;
    span.end_ns = one.end_ns;
    done.push_back(std::move(span));
  }
  for (const KeptSamples& kept : samples) rest.samples.push_back(samples_json(kept));
  for (StreamRecords* records : in_order) {
    for (DeviceRecord& one : records->closed) {
      records->spare.push_back(std::move(one.begin));
      records->spare.push_back(std::move(one.end));
    }
    records->closed.clear();
  }
  for (auto& [handle, records] : streams)
    for (DeviceRecord& one : records.open) one.batch = 0;
  host.clear();
  samples.clear();
  batches.assign(1, {});
  pieces.take_all_back();
}

void Tracer::resolve() {
  const std::lock_guard lock(state_->mutex);
  state_->resolve();
}

std::int64_t Tracer::device_end_ns(int replica) const {
  const std::lock_guard lock(state_->mutex);
  state_->resolve();
  const auto found = state_->device_end.find(replica);
  return found == state_->device_end.end() ? 0 : found->second;
}

std::vector<Span> Tracer::spans() const {
  std::vector<Span> spans;
  {
    const std::lock_guard lock(state_->mutex);
    state_->resolve();
    spans = state_->done;
  }
  std::stable_sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
    if (a.begin_ns != b.begin_ns) return a.begin_ns < b.begin_ns;
    if (a.replica != b.replica) return a.replica < b.replica;  // whichever was resolved first: the same file every time
    if (a.host != b.host) return b.host;
    if (a.communication != b.communication) return b.communication;
    return a.depth < b.depth;  // a whole before its parts
  });
  return spans;
}

TraceContents Tracer::contents() const {
  std::vector<Span> all = spans();
  const std::lock_guard lock(state_->mutex);
  TraceContents contents = state_->rest;
  contents.spans = std::move(all);
  return contents;
}

}  // namespace lockstep
