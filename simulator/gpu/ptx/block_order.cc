#include "simulator/gpu/ptx/block_order.h"

#include <algorithm>
#include <bit>

namespace lockstep::ptx {

void BlockOrder::join(Row& row, const Row& other) {
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = std::max(row[i], other[i]);
}

// Clocks go on from block to block, so what the last block did needs no cleaning.
void BlockOrder::begin_block(std::uint64_t threads) {
  if (block_ == 0) warp_clock_.fill(1);
  first_ = ++block_;
  lanes_known_.resize(threads);
  lane_clock_.resize(threads, 1);
  places_.clear();
  fenced_ = released_ = acquired_ = {};
}

void BlockOrder::part_barrier(std::uint32_t waiting, std::uint32_t arriving) {
  Row joined{};
  for (std::uint32_t left = waiting | arriving; left != 0; left &= left - 1) {
    const auto warp = static_cast<std::size_t>(std::countr_zero(left));
    join(joined, warps_known_[warp]);
    joined[warp] = std::max(joined[warp], warp_clock_[warp]++);
  }
  for (std::uint32_t left = waiting; left != 0; left &= left - 1) {
    const int warp = std::countr_zero(left);
    join(warps_known_[static_cast<std::size_t>(warp)], joined);
    const std::size_t threads = lane_clock_.size() - static_cast<std::size_t>(warp) * kLanes;
    warp_barrier(warp, threads >= kLanes ? kAllLanes : (Mask{1} << threads) - 1);
  }
}

void BlockOrder::warp_barrier(int warp, Mask lanes) {
  const std::size_t first = static_cast<std::size_t>(warp) * kLanes;
  Row joined{};
  for (Mask left = lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<std::size_t>(std::countr_zero(left));
    join(joined, lanes_known_[first + lane]);
    joined[lane] = std::max(joined[lane], lane_clock_[first + lane]++);
  }
  for (Mask left = lanes; left != 0; left &= left - 1) lanes_known_[first + static_cast<std::size_t>(std::countr_zero(left))] = joined;
}

void BlockOrder::synchronise(int warp, const std::byte* place) {
  const auto at = static_cast<std::size_t>(warp);
  std::uint32_t& released = places_[place];
  released_[at] = fenced_[at];
  released = std::max(released, fenced_[at]);
  acquired_[at] = std::max(acquired_[at], released);
}

Moment BlockOrder::now(int thread) const {
  return {block_, lane_clock_[static_cast<std::size_t>(thread)], warp_clock_[static_cast<std::size_t>(thread / kLanes)], fences_};
}

bool BlockOrder::before(const Moment& moment, int its_thread, int thread) const {
  if (moment.block < block_ || its_thread == thread) return true;
  const auto its_warp = static_cast<std::size_t>(its_thread / kLanes), warp = static_cast<std::size_t>(thread / kLanes);
  if (released_[its_warp] >= moment.fence && acquired_[warp] >= moment.fence) return true;
  if (its_warp != warp) return warps_known_[warp][its_warp] >= moment.warp;
  return lanes_known_[static_cast<std::size_t>(thread)][static_cast<std::size_t>(its_thread % kLanes)] >= moment.lane;
}

}  // namespace lockstep::ptx
