// Where a virtual GPU's time goes: processor time by operation, beside what the operation computes and moves.
//
// Off, it costs one comparison for each part of an operation. Times are of the worker thread's own processor time, so a busy computer does
// not distort them much; parts of one operation are added up.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "simulator/gpu/runtime/queue.h"

namespace lockstep::sim {

// Operations of one name and one cost: in a network, layers of one shape.
struct ProfileRow {
  std::string name;
  Cost cost;  // of one run
  std::int64_t runs = 0;
  double seconds = 0;  // of all runs, on one core
};

class Profile {
 public:
  bool on() const { return on_.load(std::memory_order_relaxed); }
  void start();
  std::vector<ProfileRow> take();  // the most expensive first

  void add(const Node& node, int part, double seconds);

 private:
  std::atomic<bool> on_{false};
  std::mutex mutex_;
  std::map<std::tuple<std::string, double, double>, ProfileRow> rows_;
};

// The one of this process.
Profile& profile();

// Processor time that the calling thread has used so far.
double thread_seconds();

}  // namespace lockstep::sim
