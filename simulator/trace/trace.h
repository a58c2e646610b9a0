// The recorder: what happened in each step, on each replica, in six phases and inside them. Off (a null pointer) it costs a comparison.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "span.h"
#include "stream.h"
#include "trace_contents.h"

namespace lockstep {

// Where times come from. `host`: the devices' events, tied to the host's clock. `events`: only the events; what the host does by itself has
// no time then. So it is with a modelled clock, where the host's own says nothing and two runs must give the same bytes.
enum class TraceClock { host, events };
TraceClock trace_clock_from_environment();  // LOCKSTEP_SIM_CLOCK=model: events

// Records spans from several threads.
class Tracer {
 public:
  explicit Tracer(TraceClock clock = TraceClock::host);
  ~Tracer();

  TraceClock clock() const;
  std::int64_t now_ns() const;
  void host_span(Span span);

  // Steps differ in how closely they are looked at: norms, checksums and partial sums take time of their own, so they are taken in the
  // first few steps only, and the others show how long things take. True: this step is one of those to look into.
  void set_inspected_steps(std::int64_t steps);
  bool begin_step(std::int64_t step);
  void set_samples_to_keep(int samples);  // of each shard; none unless set
  int samples_to_keep() const;

  // A span measured by CUDA events on a stream; its times are filled in by `resolve`, which waits for the events. Device
  // times are anchored to the host clock per device and re-anchored at every resolve, since devices' events can't be compared.
  void begin_device_span(const Stream& stream, Span span);                  // records the begin event
  void end_device_span(const Stream& stream, const Details& details = {});  // closes the last one of that stream
  void resolve();
  // To the whole phase of a replica, the last one that was closed and not yet resolved.
  void add_details(Phase phase, int replica, const Details& details);

  // What device memory holds when the stream gets here, copied to the host. The pointer is valid until the next resolve, the bytes are
  // there once the stream has passed. With `meaning` the innermost open span of the stream gets details made from them at resolve.
  using Meaning = std::function<void(const void* bytes, Details& details)>;
  const void* read(const Stream& stream, const void* device, std::size_t bytes, Meaning meaning = nullptr);

  // When the last resolved device span of this replica ended; 0 when there is none.
  std::int64_t device_end_ns(int replica) const;

  void add_samples(std::string json);  // of one shard, see samples.h
  void set_about(std::string json);    // what the run is: see MirroredStep::about

  std::vector<Span> spans() const;  // resolved ones, in the order of their begin
  TraceContents contents() const;   // everything

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// A device span for the length of a scope; with a null tracer, nothing. On the way out of an exception it closes too.
class DeviceSpan {
 public:
  DeviceSpan(Tracer* tracer, const Stream& stream, Span span) : tracer_(tracer), stream_(&stream) {
    if (tracer_) tracer_->begin_device_span(stream, std::move(span));
  }
  ~DeviceSpan() {
    if (!tracer_) return;
    try {
      tracer_->end_device_span(*stream_, details);
    } catch (...) {  // an error of the device: whoever waits for it reports it
      (void)0;
    }
  }
  DeviceSpan(const DeviceSpan&) = delete;
  DeviceSpan& operator=(const DeviceSpan&) = delete;

  Details details;  // known only at the end

 private:
  Tracer* tracer_;
  const Stream* stream_;
};

// The same on the replica's host thread: what the host did by itself, a part of the phase.
class HostSpan {
 public:
  HostSpan(Tracer* tracer, Span span) : tracer_(tracer) {
    if (!tracer_) return;
    span_ = std::move(span);
    span_.depth = 1;
    span_.begin_ns = tracer_->now_ns();
  }
  ~HostSpan() {
    if (!tracer_) return;
    span_.end_ns = tracer_->now_ns();
    tracer_->host_span(std::move(span_));
  }
  HostSpan(const HostSpan&) = delete;
  HostSpan& operator=(const HostSpan&) = delete;

 private:
  Tracer* tracer_;
  Span span_;
};

}  // namespace lockstep
