#include "simulator/gpu/nccl/rank_counters.h"

namespace lockstep::sim::nccl {

void RankCounters::issued(int rank) {
  const std::lock_guard lock(mutex_);
  ++outstanding_[static_cast<std::size_t>(rank)];
}

void RankCounters::done(int rank) {
  const std::lock_guard lock(mutex_);
  if (--outstanding_[static_cast<std::size_t>(rank)] == 0) all_done_.notify_all();
}

void RankCounters::drain(int rank) {
  std::unique_lock lock(mutex_);
  all_done_.wait(lock, [&] { return outstanding_[static_cast<std::size_t>(rank)] == 0; });
}

void RankCounters::count_message(int from, std::size_t bytes) {
  of(from).messages.fetch_add(1, std::memory_order_relaxed);
  of(from).bytes.fetch_add(bytes, std::memory_order_relaxed);
}

Traffic RankCounters::traffic(int rank) const {
  const Counters& counters = counters_[static_cast<std::size_t>(rank)];
  return {counters.collectives, counters.messages, counters.bytes};
}

void RankCounters::reset_traffic(int rank) {
  of(rank).collectives = 0;
  of(rank).messages = 0;
  of(rank).bytes = 0;
}

}  // namespace lockstep::sim::nccl
