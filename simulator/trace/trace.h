// The recorder: what happened in each step, on each replica, in six phases and inside them.
//
// During a step it does as little as can be: a record of fixed size and two CUDA events for a span, no wait, no text (span_record.h).
// Times and texts are made afterwards, by `resolve`. Off (a null pointer) it costs a comparison.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/device/stream.h"
#include "simulator/trace/samples.h"
#include "simulator/trace/span.h"
#include "simulator/trace/span_record.h"
#include "simulator/trace/trace_contents.h"

namespace lockstep {

// Where times come from. `host`: the devices' events, tied to the host's clock. `events`: only the events, and what the host does by itself
// has no time; for a modelled clock, where the host's clock means nothing and two runs must give the same bytes.
enum class TraceClock { host, events };
TraceClock trace_clock_from_environment();  // LOCKSTEP_SIM_CLOCK=model: events

// What events know: virtual ones the time they happened at, those of real GPUs the time between two of one device.
enum class EventTimes { absolute_where_known, differences };

// Records spans from several threads; those of one stream come from one thread at a time.
class Tracer {
 public:
  explicit Tracer(TraceClock clock = TraceClock::host, EventTimes times = EventTimes::absolute_where_known);
  ~Tracer();

  TraceClock clock() const;
  std::int64_t now_ns() const;

  // Steps differ in how closely they are looked at: norms, checksums and partial sums take time of their own, so they are taken in the
  // first few steps only, and the others show how long things take. True: this step is one of those to look into.
  void set_inspected_steps(std::int64_t steps);
  bool begin_step(std::int64_t step);
  void set_samples_to_keep(int samples);  // of each shard; none unless set
  int samples_to_keep() const;

  // A copy of this text that stays as long as the tracer, for facts; the same one every time.
  const std::string* text(const std::string& text);

  // A span measured by CUDA events on a stream.
  void begin_device_span(const Stream& stream, const SpanRecord& record);                // records the begin event
  void end_device_span(const Stream& stream, const Facts& facts = {});                   // closes the last one of that stream
  void host_span(const SpanRecord& record, std::int64_t begin_ns, std::int64_t end_ns);  // what the host did by itself, a part of a phase
  void host_span(Span span);

  // More about the whole phase of a replica, the last one that was closed and not yet resolved.
  void add_facts(Phase phase, int replica, const Facts& facts);
  void add_details(Phase phase, int replica, Details details);

  // The end of a step: everything issued has happened, as the host saw at `arrived_ns`. Each replica's barrier lasts from the end of its
  // last device span until now; where checksums were compared that is a part of it.
  struct Barrier {
    SpanRecord record;
    bool compared = false;
  };
  void end_step(std::int64_t arrived_ns, const std::vector<Barrier>& barriers);

  // Makes spans of what was recorded; waits for events that have not happened yet. What asks for spans does it by itself.
  void resolve();

  // What device memory holds when the stream gets here, copied to the host. The pointer is valid until the next resolve, the bytes are
  // there once the stream has passed. With `meaning` the innermost open span of the stream gets details made from them at resolve.
  using Meaning = std::function<void(const void* bytes, Details& details)>;
  const void* read(const Stream& stream, const void* device, std::size_t bytes, Meaning meaning = nullptr);

  // When the last device span of this replica ended; 0 when there is none.
  std::int64_t device_end_ns(int replica) const;

  // What a shard holds, of `x` and `y`; copied as far as it is kept.
  void add_samples(const ShardSamples& which, const Array& x, const Array& y);
  void set_about(std::string json);  // what the run is: see MirroredStep::about

  std::vector<Span> spans() const;  // in the order of their begin
  TraceContents contents() const;   // everything

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// A device span for the length of a scope; with a null tracer, nothing. On the way out of an exception it closes too.
class DeviceSpan {
 public:
  DeviceSpan(Tracer* tracer, const Stream& stream, const SpanRecord& record) : tracer_(tracer), stream_(&stream) {
    if (tracer_) tracer_->begin_device_span(stream, record);
  }
  ~DeviceSpan() {
    if (!tracer_) return;
    try {
      tracer_->end_device_span(*stream_, facts);
    } catch (...) {  // an error of the device: the call that waits for the device reports it
      (void)0;
    }
  }
  DeviceSpan(const DeviceSpan&) = delete;
  DeviceSpan& operator=(const DeviceSpan&) = delete;

  Facts facts;  // known only at the end

 private:
  Tracer* tracer_;
  const Stream* stream_;
};

// The same on the replica's host thread: what the host did by itself, a part of the phase.
class HostSpan {
 public:
  HostSpan(Tracer* tracer, const SpanRecord& record) : tracer_(tracer) {
    if (!tracer_) return;
    record_ = record;
    begin_ns_ = tracer_->now_ns();
  }
  ~HostSpan() {
    if (tracer_) tracer_->host_span(record_, begin_ns_, tracer_->now_ns());
  }
  HostSpan(const HostSpan&) = delete;
  HostSpan& operator=(const HostSpan&) = delete;

 private:
  Tracer* tracer_;
  SpanRecord record_;
  std::int64_t begin_ns_ = 0;
};

}  // namespace lockstep
