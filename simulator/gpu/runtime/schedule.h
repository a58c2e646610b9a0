// What workers run next: streams that are ready, and operations with parts that are not claimed yet (jobs).
//
// Under a seed (control.h) there is one worker, and it chooses at random. The executor's lock protects all of this but `has_work`.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <random>

#include "simulator/gpu/runtime/queue.h"

namespace lockstep::sim {

class Schedule {
 public:
  explicit Schedule(std::uint64_t seed) : seed_(seed), random_(seed) {}

  std::uint64_t seed() const { return seed_; }
  bool seeded() const { return seed_ != 0; }
  void set_seed(std::uint64_t seed);

  void add(Stream* stream) {
    ready_.push_back(stream);
    has_work_.store(true, std::memory_order_relaxed);
  }
  Stream* take(int worker);  // null: none is ready
  bool has_streams() const { return !ready_.empty(); }
  // Under a seed: how long the worker lets the host run ahead before it takes the next stream. Not twice in a row.
  std::optional<std::chrono::microseconds> hold_back() { return seeded() ? draw_hold_back() : std::nullopt; }

  void begin_parts(Node& node);  // before it is offered
  void offer(Node& node);
  Node* job_of(int worker) {  // one that this worker started; under a seed any one
    for (Node* job : jobs_) {
      if (seeded() || job->stream->worker == worker) return job;
    }
    return nullptr;
  }
  Node* any_job() { return jobs_.empty() ? nullptr : jobs_.front(); }
  int claim(Node& node);  // a part

  int open_work() const;                                                       // streams and parts
  bool has_work() const { return has_work_.load(std::memory_order_relaxed); }  // without the lock; may be out of date

 private:
  std::optional<std::chrono::microseconds> draw_hold_back();
  void note_work() { has_work_.store(!ready_.empty() || !jobs_.empty(), std::memory_order_relaxed); }

  std::uint64_t seed_;
  std::mt19937_64 random_;
  bool held_back_ = false;
  std::deque<Stream*> ready_;
  std::deque<Node*> jobs_;
  std::atomic<bool> has_work_{false};
};

}  // namespace lockstep::sim
