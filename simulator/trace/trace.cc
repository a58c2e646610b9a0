// The recorder: host spans as they come, device spans as pairs of CUDA events that become times at `resolve`.
//
// A device's events only know the time between themselves. So at every resolve an anchor event is recorded and bracketed by the host's
// clock. The bracket and causality bound the offset between the two clocks: an event ran no earlier than the host asked for it, and no
// later than the host saw it done. We take the middle of what is left (as NTP does with its round trips).
#include "trace.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <mutex>

#include "lockstep/error.h"

namespace lockstep {
namespace {

using Clock = std::chrono::steady_clock;

struct Pending {
  Span span;
  int device = 0;
  std::int64_t asked_ns = 0;  // host time just before the begin event was recorded
  Event begin;
  Event end;
};

}  // namespace

struct Tracer::State {
  Clock::time_point start = Clock::now();
  mutable std::mutex mutex;
  std::vector<Span> done;
  std::map<cudaStream_t, std::vector<Pending>> open;  // a stack for each stream
  std::vector<Pending> closed;
  std::map<int, std::vector<Event>> spare;  // events to use again, by device
  std::map<int, Stream> anchor_streams;
  std::map<int, std::int64_t> device_end;                  // by replica
  std::map<std::pair<int, bool>, std::int64_t> track_end;  // by replica and stream: slices of one track never overlap

  std::int64_t now() const { return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count(); }

  Event take(int device) {
    std::vector<Event>& events = spare[device];
    if (events.empty()) return Event(device, Event::Timing::on);
    Event event = std::move(events.back());
    events.pop_back();
    return event;
  }

  void resolve_device(int device, std::vector<Pending>& spans);
};

Tracer::Tracer() : state_(std::make_unique<State>()) {}
Tracer::~Tracer() = default;

std::int64_t Tracer::now_ns() const { return state_->now(); }

void Tracer::host_span(Span span) {
  span.host = true;
  span.communication = false;
  const std::lock_guard lock(state_->mutex);
  state_->done.push_back(std::move(span));
}

void Tracer::begin_device_span(const Stream& stream, Span span) {
  const std::lock_guard lock(state_->mutex);
  std::vector<Pending>& stack = state_->open[stream.get()];
  span.host = false;
  span.depth = static_cast<int>(stack.size());
  const int device = stream.device();
  Pending pending{std::move(span), device, 0, state_->take(device), state_->take(device)};
  pending.asked_ns = state_->now();
  pending.begin.record(stream);
  stack.push_back(std::move(pending));
}

void Tracer::end_device_span(const Stream& stream, const Details& details) {
  const std::lock_guard lock(state_->mutex);
  const auto found = state_->open.find(stream.get());
  if (found == state_->open.end() || found->second.empty()) throw Error("Tracer: a device span was ended that was never begun.");
  Pending pending = std::move(found->second.back());
  found->second.pop_back();
  pending.end.record(stream);
  pending.span.details.insert(pending.span.details.end(), details.begin(), details.end());
  state_->closed.push_back(std::move(pending));
}

void Tracer::resolve() {
  const std::lock_guard lock(state_->mutex);
  std::map<int, std::vector<Pending>> by_device;
  for (Pending& pending : state_->closed) by_device[pending.device].push_back(std::move(pending));
  state_->closed.clear();
  for (auto& [device, spans] : by_device) state_->resolve_device(device, spans);
}

void Tracer::State::resolve_device(int device, std::vector<Pending>& pending) {
  for (const Pending& one : pending) one.end.synchronize();

  const Stream& stream = anchor_streams.try_emplace(device, device).first->second;
  Event anchor = take(device);
  const std::int64_t before = now();
  anchor.record(stream);
  anchor.synchronize();
  const std::int64_t after = now();

  const auto since_anchor = [&](const Event& event) { return -static_cast<double>(anchor.milliseconds_since(event)) * 1e6; };
  auto low = static_cast<double>(before);  // bounds of the host time of the anchor
  auto high = static_cast<double>(after);
  for (const Pending& one : pending) low = std::max(low, static_cast<double>(one.asked_ns) - since_anchor(one.begin));
  for (const Pending& one : pending) high = std::min(high, static_cast<double>(after) - since_anchor(one.end));
  const double anchor_ns = low <= high ? (low + high) / 2 : low;

  std::map<std::pair<int, bool>, std::int64_t> ends = track_end;
  std::vector<std::pair<double, Pending*>> order;
  for (Pending& one : pending) order.emplace_back(since_anchor(one.begin), &one);
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [begin, one] : order) {
    Span& span = one->span;
    const std::pair<int, bool> track(span.replica, span.communication);
    const std::int64_t floor = track_end[track];  // of the resolve before: its anchor may have been a little off
    span.begin_ns = std::max(floor, static_cast<std::int64_t>(anchor_ns + begin));
    span.end_ns = std::max(span.begin_ns, static_cast<std::int64_t>(anchor_ns + since_anchor(one->end)));
    ends[track] = std::max(ends[track], span.end_ns);
    device_end[span.replica] = std::max(device_end[span.replica], span.end_ns);
    done.push_back(std::move(span));
    spare[device].push_back(std::move(one->begin));
    spare[device].push_back(std::move(one->end));
  }
  track_end = std::move(ends);
  spare[device].push_back(std::move(anchor));
}

std::int64_t Tracer::device_end_ns(int replica) const {
  const std::lock_guard lock(state_->mutex);
  const auto found = state_->device_end.find(replica);
  return found == state_->device_end.end() ? 0 : found->second;
}

std::vector<Span> Tracer::spans() const {
  std::vector<Span> spans;
  {
    const std::lock_guard lock(state_->mutex);
    spans = state_->done;
  }
  std::stable_sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
    if (a.begin_ns != b.begin_ns) return a.begin_ns < b.begin_ns;
    return a.depth < b.depth;  // a whole before its parts
  });
  return spans;
}

}  // namespace lockstep
