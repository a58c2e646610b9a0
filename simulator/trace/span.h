// What a trace is made of: slices of time by step, replica and phase.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/phases.h"

namespace lockstep {

enum class Phase { replicate, shard, local_gradients, all_reduce, update, barrier };
inline const char* to_string(Phase phase) { return kPhases[static_cast<std::size_t>(phase)]; }

// JSON values by name: {"samples", "64"}, {"checksum", "\"0x12\""}.
using Details = std::vector<std::pair<std::string, std::string>>;
std::string json_text(const std::string& text);  // quoted and escaped
std::string json_number(double value);           // as short as reads back the same; null where JSON has no such number

// One slice of the timeline. Times are nanoseconds since the tracer was made.
struct Span {
  Phase phase = Phase::replicate;
  std::string name;  // the phase's name, or what happened inside it
  int replica = 0;
  bool communication = false;  // on the communication stream
  std::int64_t step = 0;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  Details details;
  bool host = false;  // on the replica's host thread; the tracer fills this in
  int depth = 0;      // 0: a phase; 1: a part of one, and so on. The tracer adds how many spans of the stream are open.

  std::int64_t ns() const { return end_ns - begin_ns; }
  const std::string* detail(const std::string& key) const {
    for (const auto& [name_, value] : details)
      if (name_ == key) return &value;
    return nullptr;
  }
  std::vector<int> senders() const;  // of a message: the replicas it comes from; several where one kernel adds all of them
};

}  // namespace lockstep
