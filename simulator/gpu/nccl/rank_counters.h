// For each rank, what was sent and how many operations have not run yet. Operations in queues share it, so it may outlive its communicator.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include "simulator/gpu/nccl/statistics.h"

namespace lockstep::sim::nccl {

class RankCounters {
 public:
  explicit RankCounters(int ranks) : counters_(static_cast<std::size_t>(ranks)), outstanding_(static_cast<std::size_t>(ranks), 0) {}

  void issued(int rank);
  void done(int rank);
  void drain(int rank);  // waits until all that the rank has issued is done

  void count_collective(int rank) { of(rank).collectives.fetch_add(1, std::memory_order_relaxed); }
  void count_message(int from, std::size_t bytes);
  Traffic traffic(int rank) const;
  void reset_traffic(int rank);

 private:
  struct Counters {
    std::atomic<std::uint64_t> collectives{0};
    std::atomic<std::uint64_t> messages{0};
    std::atomic<std::uint64_t> bytes{0};
  };
  Counters& of(int rank) { return counters_[static_cast<std::size_t>(rank)]; }

  std::vector<Counters> counters_;
  std::mutex mutex_;
  std::condition_variable all_done_;
  std::vector<int> outstanding_;  // by rank; guarded by mutex_
};

}  // namespace lockstep::sim::nccl
