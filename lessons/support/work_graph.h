// What your code has put into streams, and what comes before what: by the order of each stream and by the events that were waited for.
// Nothing here depends on when the work has run.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lesson.h"

namespace lesson {

struct Work {
  std::string name;  // "copy", "add", ...
  cudaStream_t stream = nullptr;
  int reads = -1, writes = -1;   // GPUs; -1: the host, or none. A copy reads one and writes one
  const void* target = nullptr;  // of a copy
  std::vector<int> after;        // indices of work that comes right before

  bool is_message() const { return name == "copy" && reads >= 0 && writes >= 0 && reads != writes; }
};

// Records from its construction until `stop`.
class WorkGraph {
 public:
  WorkGraph();
  ~WorkGraph();
  WorkGraph(const WorkGraph&) = delete;
  WorkGraph& operator=(const WorkGraph&) = delete;

  void stop();
  const std::vector<Work>& work() const { return work_; }
  // Whether `first` is certain to be done when `second` begins.
  bool before(int first, int second) const { return ancestors_[static_cast<std::size_t>(second)][static_cast<std::size_t>(first)]; }
  // The longest chain of messages of which each comes before the next: that many latencies are paid one after another.
  int rounds() const;

 private:
  std::vector<Work> work_;
  std::vector<std::vector<bool>> ancestors_;
  bool stopped_ = false;
};

}  // namespace lesson
