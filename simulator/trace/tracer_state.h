// What a tracer holds. Only trace.cc (recording) and resolve.cc (making times and texts of it) look in here.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <mutex>
#include <unordered_set>

#include "simulator/trace/pinned_pieces.h"
#include "simulator/trace/trace.h"

namespace lockstep {

struct Reading {
  const void* bytes = nullptr;
  Tracer::Meaning meaning;
};

// What few spans have.
struct Extras {
  std::vector<Reading> readings;
  Details details;
};

struct DeviceRecord {
  SpanRecord record;
  Facts at_end, afterwards;
  int depth = 0;
  std::int64_t batch = 0;     // which of the batches of Tracer::State it is a part of
  std::int64_t asked_ns = 0;  // host time just before the begin event was recorded
  Event begin;
  Event end;
  std::unique_ptr<Extras> extras;
};

struct HostRecord {
  SpanRecord record;
  std::int64_t begin_ns = 0, end_ns = 0;
};

// The spans of one stream. One thread at a time adds to it; no lock.
struct StreamRecords {
  explicit StreamRecords(int device_) : device(device_) {
    open.reserve(8);
    closed.reserve(256);
  }
  int device;
  std::vector<DeviceRecord> open;  // a stack
  std::vector<DeviceRecord> closed;
  std::vector<Event> spare;  // events to use again

  Event take() {
    if (spare.empty())
      for (int i = 0; i < 64; ++i) spare.emplace_back(device, Event::Timing::on);
    Event event = std::move(spare.back());
    spare.pop_back();
    return event;
  }
};

// What lies between two ends of steps.
struct Batch {
  std::int64_t arrived_ns = -1;  // when the host saw everything done; -1: not reported
  std::int64_t left_ns = 0;
  std::vector<Tracer::Barrier> barriers;
};

struct Tracer::State {
  using Clock = std::chrono::steady_clock;

  TraceClock clock = TraceClock::host;
  EventTimes times = EventTimes::absolute_where_known;
  Clock::time_point start = Clock::now();
  std::mutex mutex;
  std::map<cudaStream_t, StreamRecords> streams;
  std::vector<HostRecord> host;
  std::vector<Batch> batches = std::vector<Batch>(1);  // the last one is under way
  std::vector<KeptSamples> samples;
  std::unordered_set<std::string> texts;
  PinnedPieces pieces;
  std::int64_t inspected = 0, begun = 0, last_step = -1;
  int samples_to_keep = 0;

  // Resolved.
  std::vector<Span> done;
  TraceContents rest;                                      // all but the spans
  std::map<int, std::int64_t> device_end;                  // by replica
  std::map<std::pair<int, bool>, std::int64_t> track_end;  // by replica and stream: slices of one track never overlap
  std::int64_t zero_ns = -1;                               // by events alone: the first one's time

  std::int64_t now() const { return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count(); }
  StreamRecords& records_of(const Stream& stream) {
    const std::lock_guard lock(mutex);
    return streams.try_emplace(stream.get(), stream.device()).first->second;
  }
  using RecordsByDevice = std::map<std::pair<std::int64_t, int>, std::vector<DeviceRecord*>>;  // by batch and device
  void resolve();                                                                              // with the lock held
  void find_zero(const RecordsByDevice& by_device);
  void resolve_device(const Batch& batch, std::vector<DeviceRecord*>& records);
  void resolve_barriers(const Batch& batch);
};

}  // namespace lockstep
