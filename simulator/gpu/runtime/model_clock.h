// The model clock: what streams are given becomes tasks of a timeline (simulator/clock), which says when each would have begun and ended
// on the machine that is modelled. Operations still run on this CPU; only times come from here.
//
// A task is appended when it is issued, with the issuing thread's modelled time. The simulation runs only as far as a program asks for a
// time, so the answer does not depend on how far the real work has come.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "simulator/clock/hardware.h"
#include "simulator/clock/recording.h"
#include "simulator/gpu/runtime/queue.h"

namespace lockstep::sim {

class ModelClock {
 public:
  explicit ModelClock(const clock::Machine& machine);

  // Streams, events and gates. The caller holds the executor's lock.
  void created(const Stream* stream);
  void created(const Event* event);
  void issued(const Node& node);
  void opened(const Gate& gate);

  // Notes for the next node of its kind that the calling thread issues.
  static void next_collective_is(const clock::CollectiveShape& shape);
  static void next_gate_lasts(double microseconds);
  // While one exists the calling thread's nodes cost the host nothing: they belong to a graph that is being launched.
  class InGraph {
   public:
    InGraph();
    ~InGraph();
    InGraph(const InGraph&) = delete;
    InGraph& operator=(const InGraph&) = delete;
  };

  // The calling thread.
  void host_waits(const Moment& moment);
  void host_copies(const Stream* stream, double bytes);
  void host_posts(const void* where);  // see host_clock.h
  void host_meets(const void* where);
  std::int64_t host_ns();

  std::int64_t ns_of(const Event* event);  // of its last record; -1: not known

  // What is issued from now on is kept, until it is taken.
  void start_recording();
  std::unique_ptr<clock::Recording> take_recording();

 private:
  int host();
  int lane(const Stream* stream);
  void spend(int who, clock::Time time);
  clock::Task task_of(const Node& node);
  clock::Task task_of(const Operation& operation, int device, const clock::CollectiveShape* collective) const;
  clock::Task gate_task(const Node& node);

  struct Met {
    std::weak_ptr<Gate> gate;
    std::shared_ptr<clock::Meeting> meeting;
  };

  std::mutex mutex_;
  clock::Timeline timeline_;
  clock::Hardware hardware_;
  std::unordered_map<const Stream*, int> lanes_, copy_lanes_;
  std::unordered_map<const Event*, clock::StampPtr> stamps_;
  std::unordered_map<const Gate*, Met> meetings_;
  std::unordered_map<const void*, std::map<int, clock::StampPtr>> posts_;  // by place and host: the latest
  std::unique_ptr<clock::Recording> recording_;
};

// The one of this process; null in the wall clock. Decided by the environment at first use, as config.h has it.
ModelClock* model_clock();
// LOCKSTEP_SIM_NO_MATH: operations are not computed. Then there is a model clock as well.
bool no_math();
// The machine that is modelled, with as many nodes as asked for.
const clock::Machine& modelled_machine();

}  // namespace lockstep::sim
