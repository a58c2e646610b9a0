// Runs one warp: which lanes are together, where they part and where they meet.
//
// Lanes that are together are a path. A branch that they do not all take parts a path in two; both wait for each other at the place where
// their ways meet (Join). The paths of a warp run one after the other, a path that waits at a barrier lets another one run, and one that
// runs long gives way, so lanes that wait for other lanes of their warp are served, as on GPUs since Volta.
#pragma once

#include <memory>
#include <vector>

#include "simulator/gpu/ptx/code.h"
#include "simulator/gpu/ptx/module.h"
#include "simulator/gpu/ptx/warp.h"

namespace lockstep::ptx {

class Counts;

// A function that runs: its registers and where it goes back to.
struct Frame {
  const Code* code = nullptr;
  std::byte* registers = nullptr;
  std::uint64_t local = 0;  // where its local memory begins
  Frame* caller = nullptr;
  std::uint32_t return_to = 0;
  const Instruction* call = nullptr;
  std::size_t capacity = 0;
  std::unique_ptr<std::byte[]> storage;
};

struct Path {
  enum class State : std::uint8_t { ready, at_block_barrier, at_warp_barrier, done };
  Mask mask = 0;
  std::uint32_t pc = 0;
  Frame* frame = nullptr;
  int join = -1;  // where it meets others
  State state = State::ready;
  std::uint32_t barrier = 0;  // the block's barrier it waits at
  Mask arrived = 0;           // its lanes that came to the barrier
};

// What a warp needs from its block.
class BlockBarriers {
 public:
  virtual ~BlockBarriers() = default;
  // Says that lanes of a path came. The path waits unless the instruction only arrives.
  virtual void arrive(Warp& warp, Path& path, const Instruction& instruction, Mask lanes) = 0;
  virtual void threads_exited(int threads) = 0;
};

class WarpRunner {
 public:
  WarpRunner(const Module& module, const Code& kernel, Block& block, int index, BlockBarriers& barriers, Counts* counts);

  void start(std::uint64_t* budget);  // at the kernel's first instruction, for the block's present index
  // Runs until nothing is ready or `most` instructions are done. Whether it ran any.
  bool run(std::uint64_t most);
  bool done() const { return paths_.empty(); }

  std::vector<Path>& paths() { return paths_; }
  Warp& warp() { return warp_; }
  const Instruction* current() const { return current_; }
  const Code& current_code() const { return *frame_->code; }

 private:
  template <bool kCount>
  void run_path(std::uint64_t most);
  void branch(Path& path, Mask taken, std::uint32_t target, std::uint32_t meeting);
  void branch_by_table(const Instruction& instruction, Mask active);
  int meet(Path& path, std::uint32_t place);  // the join of lanes that part here and meet there
  bool arrive_at_join(Path& path);            // whether the path goes on
  void leave(Path& path, Mask lanes);         // lanes exit
  void settle(int join);                      // lanes that will not come are no longer waited for
  void call(Path& path, const Instruction& instruction, Mask active);
  bool return_from(Path& path);  // false: it was the kernel
  bool pass_warp_barrier(Path& path, const Instruction& instruction, Mask active);
  Frame* new_frame(const Code& code);
  std::byte* lane_local(int lane, std::uint64_t offset);
  Mask present(Mask lanes) const { return lanes & warp_.member & ~warp_.exited; }
  void spend(std::uint64_t instructions);
  void let_waiting_lanes_go();

  struct Join {
    std::uint32_t pc;
    Mask expected, arrived;
    int parent;
    Frame* frame;
  };

  const Module& module_;
  const Code& kernel_;
  BlockBarriers& barriers_;
  Counts* counts_;
  Warp warp_;
  std::vector<std::byte> local_;
  std::vector<std::unique_ptr<Frame>> frames_;
  std::vector<Frame*> free_frames_;
  Frame* root_ = nullptr;
  std::vector<Path> paths_;
  std::vector<Join> joins_;
  std::size_t running_ = 0;
  Frame* frame_ = nullptr;
  const Instruction* current_ = nullptr;
  std::uint64_t* budget_ = nullptr;
  int long_turns_ = 0;      // that a path used up
  bool gives_way_ = false;  // after a barrier, so that warps go on in their order
};

}  // namespace lockstep::ptx
