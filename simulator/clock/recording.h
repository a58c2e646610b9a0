// What a program did on one machine (a node), step by step, so that it can be done again by many nodes at once.
//
// A recording holds the calls that a Timeline was given while it was kept: what each host thread did and the tasks it issued, with all
// dependencies. Played for many nodes, every node does the same, and collectives join them: all meet, and last as long as they do among so
// many ranks (collectives.h). So one node's program, recorded once, stands for thousands of GPUs.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "simulator/clock/collectives.h"
#include "simulator/clock/hardware.h"
#include "simulator/clock/timeline.h"

namespace lockstep::clock {

class Recording {
 public:
  void spend(int host, Time time);
  void wait(int host, const Moment& moment);
  void wait(int host, const StampPtr& stamp);
  void mark(int host, const StampPtr& stamp);
  // `device`: -1 for what a host thread does by itself.
  void append(const Moment& moment, const Task& task, int host, int device, const CollectiveShape* collective);

  std::size_t tasks() const { return tasks_; }

  struct Plan {
    int nodes = 1;
    Allowed allowed;      // of the algorithms that the recording allows
    double slowdown = 1;  // of one GPU's kernels,
    int slow_node = -1;   // this one:
    int slow_device = 0;
  };
  // Where the time of a GPU went (the first one), and of the whole.
  struct Outcome {
    double step_us = 0;           // until the last host is through
    double compute_us = 0;        // kernels and copies within the GPU under way
    double communication_us = 0;  // collectives under way
    double exposed_us = 0;        // of these, with no kernel beside them
    double arithmetic_us = 0;     // kernels that arithmetic bounds,
    double memory_us = 0;         // that memory bounds,
    double idle_us = 0;           // that leave more than half of both idle: grids of few blocks,
    double fixed_us = 0;          // and the fixed time of all
    double waiting_us = 0;        // at collectives, for others, with nothing else under way
    std::size_t kernels = 0, collectives = 0;
    double collective_bytes = 0;
    std::uint64_t tasks = 0;  // of all nodes
  };
  Outcome play(const Machine& node, const Plan& plan) const;

 private:
  enum class Kind : std::uint8_t { spend, wait_place, wait_stamp, mark, append };
  struct Item {
    Kind kind = Kind::spend;
    int host = 0;
    Time time = 0;
    Moment moment;         // in local numbers
    std::size_t what = 0;  // index into tasks or stamps
  };
  struct Body {
    Task task;  // its places in local numbers, without stamps and meetings
    int device = 0;
    int meeting = -1;
    int collective = -1;
  };
  int local_host(int host);
  std::vector<int> lanes_in_order() const;
  Moment local(const Moment& moment) const;  // lane -1: from before the recording

  std::vector<Item> items_;
  std::vector<Body> bodies_;
  std::vector<CollectiveShape> collectives_;
  std::vector<int> expected_;  // by meeting
  std::unordered_map<int, int> hosts_;
  struct LocalLane {
    int number = 0;
    std::uint64_t before = 0;  // tasks that were there already
  };
  std::unordered_map<int, LocalLane> lanes_;
  std::unordered_map<const Stamp*, std::pair<StampPtr, std::size_t>> stamps_;
  std::unordered_map<const Meeting*, std::pair<std::shared_ptr<Meeting>, int>> meetings_;
  std::size_t tasks_ = 0;
};

}  // namespace lockstep::clock
