// Which accesses of a block's threads are ordered: by barriers of the block and of warps, and by a fence with an atomic behind it.
//
// Barriers of the whole block are counted: what came before the last one is ordered. Within a warp there are vector clocks of its lanes,
// which __syncwarp joins. Barriers of a part of the block, and locks, are seen by warps and not by threads: a race can be missed that way,
// but none is reported falsely. Shuffles and votes order no memory, as CUDA documents them.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "simulator/gpu/ptx/instruction.h"

namespace lockstep::ptx {

// When an access was, in the clocks of the thread that made it.
struct Moment {
  std::uint32_t block = 0;  // barriers of the block until then; 0: there was no access
  std::uint32_t lane = 0, warp = 0, fence = 0;
};

class BlockOrder {
 public:
  void begin_block(std::uint64_t threads);
  void block_barrier() { ++block_; }
  void part_barrier(std::uint32_t waiting, std::uint32_t arriving);  // warps, a bit each
  void warp_barrier(int warp, Mask lanes);
  void fence(int warp) { fenced_[static_cast<std::size_t>(warp)] = fences_++; }
  // An atomic access, or one that is volatile or better: with a fence in front it releases, and it acquires what was released there.
  void synchronise(int warp, const std::byte* place);

  Moment now(int thread) const;
  bool in_this_block(const Moment& moment) const { return moment.block >= first_; }
  bool before(const Moment& moment, int its_thread, int thread) const;

 private:
  static constexpr std::size_t kWarps = 32;
  using Row = std::array<std::uint32_t, kLanes>;
  static void join(Row& row, const Row& other);

  std::uint32_t block_ = 0, first_ = 0, fences_ = 1;
  std::vector<Row> lanes_known_;           // by thread
  std::vector<std::uint32_t> lane_clock_;  // by thread
  std::array<Row, kWarps> warps_known_{};  // by warp
  std::array<std::uint32_t, kWarps> warp_clock_{}, fenced_{}, released_{}, acquired_{};
  std::unordered_map<const std::byte*, std::uint32_t> places_;  // the last fence that was released there
};

}  // namespace lockstep::ptx
