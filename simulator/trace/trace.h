// What happened in each step, on each replica, in six phases; written as Chrome trace JSON that Perfetto opens.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "stream.h"

namespace lockstep {

enum class Phase { replicate, shard, local_gradients, all_reduce, update, barrier };
inline constexpr std::array<const char*, 6> kPhaseNames = {"replicate", "shard", "local gradients", "all-reduce", "update", "barrier"};
inline const char* to_string(Phase phase) { return kPhaseNames[static_cast<std::size_t>(phase)]; }

// JSON values by name: {"samples", "64"}, {"checksum", "\"0x12\""}.
using Details = std::vector<std::pair<std::string, std::string>>;
std::string json_text(const std::string& text);  // quoted and escaped

// One slice of the timeline. Times are nanoseconds of the host's steady clock since the tracer was made.
struct Span {
  Phase phase = Phase::replicate;
  std::string name;  // the phase's name, or what happened inside it
  int replica = 0;
  bool communication = false;  // on the communication stream
  std::int64_t step = 0;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  Details details;
  bool host = false;  // on the replica's host thread; the tracer fills in this and the next
  int depth = 0;      // 0: a phase; 1: a part of one, and so on
};

// Records spans from several threads. Off (a null pointer) it costs a comparison.
class Tracer {
 public:
  Tracer();
  ~Tracer();

  std::int64_t now_ns() const;
  void host_span(Span span);

  // A span measured by CUDA events on a stream; its times are filled in by `resolve`, which waits for the events. Device
  // times are anchored to the host clock per device and re-anchored at every resolve, since devices' events can't be compared.
  void begin_device_span(const Stream& stream, Span span);                  // records the begin event
  void end_device_span(const Stream& stream, const Details& details = {});  // closes the last one of that stream
  void resolve();

  // When the last resolved device span of this replica ended; 0 when there is none.
  std::int64_t device_end_ns(int replica) const;

  std::vector<Span> spans() const;                        // resolved ones, in the order of their begin
  std::string phase_summary() const;                      // a table: where the time of a step went, by phase
  void write_chrome_json(const std::string& path) const;  // atomically: a temporary file, then a rename

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

}  // namespace lockstep
