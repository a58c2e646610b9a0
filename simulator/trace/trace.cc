// Host spans as they come, device spans as pairs of CUDA events that become times at `resolve`.
//
// A device's events only know the time between themselves. So at every resolve an anchor event is recorded and bracketed by the host's
// clock. The bracket and causality bound the offset between the two clocks: an event ran no earlier than the host asked for it, and no
// later than the host saw it done. We take the middle of what is left (as NTP does with its round trips).
// By events alone every device has an origin instead, recorded when it is first seen.
#include "trace.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <mutex>

#include "check.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

using Clock = std::chrono::steady_clock;

struct Reading {
  const void* bytes = nullptr;
  Tracer::Meaning meaning;
};

struct Pending {
  Span span;
  int device = 0;
  std::int64_t asked_ns = 0;  // host time just before the begin event was recorded
  Event begin;
  Event end;
  std::vector<Reading> readings;
};

// Page-locked memory that is handed out piece by piece and taken back as a whole.
class PinnedPieces {
 public:
  PinnedPieces() = default;
  ~PinnedPieces() {
    for (const Block& block : blocks_) cudaFreeHost(block.data);
  }
  PinnedPieces(const PinnedPieces&) = delete;
  PinnedPieces& operator=(const PinnedPieces&) = delete;

  void* take(std::size_t bytes) {
    bytes = (bytes + 15) / 16 * 16;
    while (current_ < blocks_.size() && used_ + bytes > blocks_[current_].bytes) ++current_, used_ = 0;
    if (current_ == blocks_.size()) {
      Block block{nullptr, std::max<std::size_t>(bytes, 1 << 16)};
      LOCKSTEP_CHECK(cudaMallocHost(&block.data, block.bytes));
      blocks_.push_back(block);
      used_ = 0;
    }
    void* piece = static_cast<unsigned char*>(blocks_[current_].data) + used_;
    used_ += bytes;
    return piece;
  }
  void take_all_back() { current_ = used_ = 0; }

 private:
  struct Block {
    void* data = nullptr;
    std::size_t bytes = 0;
  };
  std::vector<Block> blocks_;
  std::size_t current_ = 0, used_ = 0;
};

}  // namespace

TraceClock trace_clock_from_environment() {
  const char* clock = std::getenv("LOCKSTEP_SIM_CLOCK");
  return clock != nullptr && std::string(clock) == "model" ? TraceClock::events : TraceClock::host;
}

struct Tracer::State {
  TraceClock clock = TraceClock::host;
  Clock::time_point start = Clock::now();
  mutable std::mutex mutex;
  std::vector<Span> done;
  std::map<cudaStream_t, std::vector<Pending>> open;  // a stack for each stream
  std::vector<Pending> closed;
  std::map<int, std::vector<Event>> spare;  // events to use again, by device
  std::map<int, Stream> anchor_streams;
  std::map<int, Event> origins;                            // by device, where events are all there is
  std::map<int, std::int64_t> device_end;                  // by replica
  std::map<std::pair<int, bool>, std::int64_t> track_end;  // by replica and stream: slices of one track never overlap
  PinnedPieces pieces;
  std::int64_t inspected = 0, begun = 0, last_step = -1;
  int samples_to_keep = 0;
  TraceContents rest;  // all but the spans

  std::int64_t now() const { return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count(); }

  Event take(int device) {
    std::vector<Event>& events = spare[device];
    if (events.empty()) return Event(device, Event::Timing::on);
    Event event = std::move(events.back());
    events.pop_back();
    return event;
  }

  void resolve_device(int device, std::vector<Pending>& spans);
  double zero_of(int device, const std::vector<Pending>& pending, Event& anchor);
};

Tracer::Tracer(TraceClock clock) : state_(std::make_unique<State>()) { state_->clock = clock; }
Tracer::~Tracer() = default;

TraceClock Tracer::clock() const { return state_->clock; }

// By events alone the host's time is that of the device which is furthest.
std::int64_t Tracer::now_ns() const {
  if (state_->clock == TraceClock::host) return state_->now();
  const std::lock_guard lock(state_->mutex);
  std::int64_t last = 0;
  for (const auto& [replica, end] : state_->device_end) last = std::max(last, end);
  return last;
}

void Tracer::set_inspected_steps(std::int64_t steps) { state_->inspected = steps; }
bool Tracer::begin_step(std::int64_t step) {
  if (step != state_->last_step) ++state_->begun;
  state_->last_step = step;
  return state_->begun <= state_->inspected;
}

void Tracer::set_samples_to_keep(int samples) { state_->samples_to_keep = samples; }
int Tracer::samples_to_keep() const { return state_->samples_to_keep; }

// Where events are all there is the host's own work has no time: only the phases are kept.
void Tracer::host_span(Span span) {
  if (state_->clock == TraceClock::events && span.depth > 0) return;
  span.host = true;
  span.communication = false;
  const std::lock_guard lock(state_->mutex);
  state_->done.push_back(std::move(span));
}

void Tracer::begin_device_span(const Stream& stream, Span span) {
  const std::lock_guard lock(state_->mutex);
  const int device = stream.device();
  if (state_->clock == TraceClock::events && !state_->origins.count(device)) {
    state_->origins.emplace(device, Event(device, Event::Timing::on)).first->second.record(stream);
  }
  std::vector<Pending>& stack = state_->open[stream.get()];
  span.host = false;
  span.depth += static_cast<int>(stack.size());
  Pending pending{std::move(span), device, 0, state_->take(device), state_->take(device), {}};
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

const void* Tracer::read(const Stream& stream, const void* device, std::size_t bytes, Meaning meaning) {
  const std::lock_guard lock(state_->mutex);
  void* piece = state_->pieces.take(bytes);
  const DeviceGuard guard(stream.device());
  LOCKSTEP_CHECK(cudaMemcpyAsync(piece, device, bytes, cudaMemcpyDeviceToHost, stream.get()));
  if (meaning) {
    std::vector<Pending>& stack = state_->open[stream.get()];
    if (stack.empty()) throw Error("Tracer: no span is open to read into.");
    stack.back().readings.push_back({piece, std::move(meaning)});
  }
  return piece;
}

void Tracer::add_details(Phase phase, int replica, const Details& details) {
  const std::lock_guard lock(state_->mutex);
  for (auto one = state_->closed.rbegin(); one != state_->closed.rend(); ++one) {
    Span& span = one->span;
    if (span.depth > 0 || span.phase != phase || span.replica != replica) continue;
    span.details.insert(span.details.end(), details.begin(), details.end());
    return;
  }
}

void Tracer::resolve() {
  const std::lock_guard lock(state_->mutex);
  std::map<int, std::vector<Pending>> by_device;
  for (Pending& pending : state_->closed) by_device[pending.device].push_back(std::move(pending));
  state_->closed.clear();
  for (auto& [device, spans] : by_device) state_->resolve_device(device, spans);
  state_->pieces.take_all_back();
}

// The time of an event that others of its device can be measured from; `anchor` becomes that event.
double Tracer::State::zero_of(int device, const std::vector<Pending>& pending, Event& anchor) {
  const Stream& stream = anchor_streams.try_emplace(device, device).first->second;
  const std::int64_t before = now();
  anchor.record(stream);
  anchor.synchronize();
  const std::int64_t after = now();
  auto low = static_cast<double>(before);  // bounds of the host time of the anchor
  auto high = static_cast<double>(after);
  const auto since_anchor = [&](const Event& event) { return -static_cast<double>(anchor.milliseconds_since(event)) * 1e6; };
  for (const Pending& one : pending) low = std::max(low, static_cast<double>(one.asked_ns) - since_anchor(one.begin));
  for (const Pending& one : pending) high = std::min(high, static_cast<double>(after) - since_anchor(one.end));
  return low <= high ? (low + high) / 2 : low;
}

void Tracer::State::resolve_device(int device, std::vector<Pending>& pending) {
  for (const Pending& one : pending) one.end.synchronize();
  Event anchor = take(device);
  const bool by_host = clock == TraceClock::host;
  const double zero = by_host ? zero_of(device, pending, anchor) : 0;
  const Event& from = by_host ? anchor : origins.at(device);
  const auto ns = [&](const Event& event) {
    const double ms = by_host ? -static_cast<double>(from.milliseconds_since(event)) : static_cast<double>(event.milliseconds_since(from));
    return static_cast<std::int64_t>(std::llround(zero + ms * 1e6));
  };

  std::map<std::pair<int, bool>, std::int64_t> ends = track_end;
  std::vector<std::pair<std::int64_t, Pending*>> order;
  for (Pending& one : pending) order.emplace_back(ns(one.begin), &one);
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [begin, one] : order) {
    Span& span = one->span;
    const std::pair<int, bool> track(span.replica, span.communication);
    const std::int64_t floor = track_end[track];  // of the resolve before: its anchor may have been a little off
    span.begin_ns = std::max(floor, begin);
    span.end_ns = std::max(span.begin_ns, ns(one->end));
    ends[track] = std::max(ends[track], span.end_ns);
    device_end[span.replica] = std::max(device_end[span.replica], span.end_ns);
    for (const Reading& reading : one->readings) reading.meaning(reading.bytes, span.details);
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

void Tracer::add_samples(std::string json) {
  const std::lock_guard lock(state_->mutex);
  state_->rest.samples.push_back(std::move(json));
}

void Tracer::set_about(std::string json) {
  const std::lock_guard lock(state_->mutex);
  state_->rest.about = std::move(json);
}

std::vector<Span> Tracer::spans() const {
  std::vector<Span> spans;
  {
    const std::lock_guard lock(state_->mutex);
    spans = state_->done;
  }
  std::stable_sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
    if (a.begin_ns != b.begin_ns) return a.begin_ns < b.begin_ns;
    if (a.replica != b.replica) return a.replica < b.replica;  // whoever was resolved first: the same file every time
    if (a.communication != b.communication) return b.communication;
    return a.depth < b.depth;  // a whole before its parts
  });
  return spans;
}

TraceContents Tracer::contents() const {
  TraceContents contents = [this] {
    const std::lock_guard lock(state_->mutex);
    return state_->rest;
  }();
  contents.spans = spans();
  return contents;
}

}  // namespace lockstep
