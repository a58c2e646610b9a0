// What the phases of training steps did, counted as it was issued, and where their time goes, by replica and phase: measured in every step,
// by five events of the replica's compute stream.
//
//   begin  shard  sharded  local gradients  computed  all-reduce  summed  update  updated  barrier
//
// So an all-reduce takes only what the replica waits for it once its own gradients are done: what backward hides costs nothing. The
// barrier is the rest of the step, by the host's clock: waiting for the others, and the host's own work.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <backend/watching.h>
#include "engine/device/stream.h"
#include "simulator/trace/span.h"

namespace lockstep {

// Sums over the steps since the start.
struct ReplicaTimes {
  std::array<double, kPhases.size()> seconds{};  // by Phase
  std::int64_t steps = 0;
  std::int64_t samples = 0;
  double loss_sum = 0;  // of those samples

  std::int64_t replications = 0;      // how often phase 1 ran
  std::int64_t replicated_bytes = 0;  // that it copied to this replica
  std::int64_t summed_bytes = 0;      // of sums that phase 4 put there: gradients, and moving statistics where there are some
  std::int64_t updates = 0;           // that phase 5 made of its copy
};

// One replica's marks in the step under way.
class PhaseMarks {
 public:
  enum Mark { begin, sharded, computed, summed, updated };
  explicit PhaseMarks(int device);
  void set(Mark mark, const Stream& stream) {
    const Watching watching;
    events_[mark].record(stream);
  }
  double seconds(Mark from, Mark to) const { return static_cast<double>(events_[to].milliseconds_since(events_[from])) * 1e-3; }

 private:
  std::array<Event, 5> events_;
};

// All replicas' sums.
class PhaseTimes {
 public:
  explicit PhaseTimes(std::size_t replicas) : times_(replicas) {}
  void begin_step();
  bool under_way() const { return begun_ns_ >= 0; }
  // Every GPU has finished. `updates`: the step ended with an update, else its gradients wait for more.
  void end_step(const std::vector<const PhaseMarks*>& marks, bool updates);
  void add_replicate(double seconds, const std::vector<std::int64_t>& bytes);  // bytes by replica, as Traffic::results has them
  void add_sum(const std::vector<std::int64_t>& bytes);
  void add_update(std::size_t replica) { ++times_[replica].updates; }
  void add_samples(std::size_t replica, std::int64_t samples, double loss_sum);
  const std::vector<ReplicaTimes>& replicas() const { return times_; }

 private:
  std::vector<ReplicaTimes> times_;
  std::int64_t begun_ns_ = -1;
};

}  // namespace lockstep
