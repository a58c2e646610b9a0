// What happened in each step, on each replica, in six phases; written as Chrome trace JSON that Perfetto opens.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "stream.h"

namespace lockstep {

enum class Phase { replicate, shard, local_gradients, all_reduce, update, barrier };
inline constexpr std::array<const char*, 6> kPhaseNames = {"replicate", "shard", "local gradients", "all-reduce", "update", "barrier"};

// One slice of the timeline. Times are nanoseconds of the host's steady clock since the tracer was made.
struct Span {
  Phase phase = Phase::replicate;
  std::string name;   // the phase's name, or what happened inside it
  int replica = 0;
  bool communication = false;  // on the communication stream
  std::int64_t step = 0;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::vector<std::pair<std::string, std::string>> details;  // JSON values by name: {"samples", "64"}, {"checksum", "\"0x12\""}
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
  void begin_device_span(const Stream& stream, Span span);  // records the begin event
  void end_device_span(const Stream& stream, std::vector<std::pair<std::string, std::string>> details = {});  // closes the last one of that stream
  void resolve();

  std::vector<Span> spans() const;
  void write_chrome_json(const std::string& path) const;  // atomically: a temporary file, then a rename

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lockstep
