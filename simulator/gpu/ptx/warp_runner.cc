// The loop that runs a warp.
#include "simulator/gpu/ptx/warp_runner.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "simulator/gpu/ptx/checks.h"
#include "simulator/gpu/ptx/counts.h"
#include "simulator/gpu/ptx/device_functions.h"

namespace lockstep::ptx {

namespace {
constexpr std::uint64_t kTurn = 1 << 16;  // instructions after which a path gives way to the others of its warp
constexpr int kPatience = 4;              // turns in a row after which lanes that wait where ways meet no longer do
constexpr std::size_t kFrameAlign = 64;
constexpr std::size_t kMostFrames = 4096;
}  // namespace

WarpRunner::WarpRunner(const Module& module, const Code& kernel, Block& block, int index, BlockBarriers& barriers, Counts* counts)
    : module_(module), kernel_(kernel), barriers_(barriers), counts_(counts) {
  warp_.block = &block;
  warp_.index = index;
  const std::uint64_t first = static_cast<std::uint64_t>(index) * kLanes;
  const std::uint64_t threads = block.threads.volume() - first;
  warp_.member = threads >= kLanes ? kAllLanes : (Mask{1} << threads) - 1;
  local_.resize(kernel.stack_bytes * kLanes + 16);
  warp_.local = local_.data() + (16 - reinterpret_cast<std::uintptr_t>(local_.data()) % 16) % 16;
  warp_.local_bytes = kernel.stack_bytes;
  root_ = new_frame(kernel);
}

Frame* WarpRunner::new_frame(const Code& code) {
  const std::size_t bytes = code.register_bytes + code.constants.size();
  Frame* frame = nullptr;
  const auto fits = std::find_if(free_frames_.begin(), free_frames_.end(), [&](const Frame* free) { return free->capacity >= bytes; });
  if (fits != free_frames_.end()) {
    frame = *fits;
    free_frames_.erase(fits);
  } else {
    if (frames_.size() >= kMostFrames) throw Fault{0, "functions call each other more than 4096 deep"};
    frames_.push_back(std::make_unique<Frame>());
    frame = frames_.back().get();
    frame->storage = std::make_unique<std::byte[]>(bytes + kFrameAlign);
    frame->registers =
        frame->storage.get() + (kFrameAlign - reinterpret_cast<std::uintptr_t>(frame->storage.get()) % kFrameAlign) % kFrameAlign;
    frame->capacity = bytes;
  }
  frame->code = &code;
  std::memset(frame->registers + kZeroSlot, 0, kFirstSlot - kZeroSlot);
  std::copy(code.constants.begin(), code.constants.end(), frame->registers + code.register_bytes);
  return frame;
}

void WarpRunner::start(std::uint64_t* budget) {
  budget_ = budget;
  for (const auto& frame : frames_) {
    const bool is_free = std::find(free_frames_.begin(), free_frames_.end(), frame.get()) != free_frames_.end();
    if (frame.get() != root_ && !is_free) free_frames_.push_back(frame.get());
  }
  joins_.clear();
  paths_.clear();
  warp_.exited = 0;
  warp_.carry = 0;
  warp_.copies.clear();
  Path path;
  path.mask = warp_.member;
  path.frame = root_;
  paths_.push_back(path);
  running_ = 0;
}

bool WarpRunner::run(std::uint64_t most) {
  bool ran = false;
  gives_way_ = false;
  for (std::uint64_t left = most; left > 0 && !paths_.empty() && !gives_way_;) {
    std::erase_if(paths_, [](const Path& path) { return path.state == Path::State::done; });
    const auto ready = std::find_if(paths_.rbegin(), paths_.rend(), [](const Path& path) { return path.state == Path::State::ready; });
    if (ready == paths_.rend()) break;
    running_ = static_cast<std::size_t>(paths_.rend() - ready) - 1;
    const std::uint64_t before = warp_.instructions;
    const std::uint64_t turn = std::min(left, kTurn);
    if (counts_ != nullptr)
      run_path<true>(turn);
    else
      run_path<false>(turn);
    const std::uint64_t done = warp_.instructions - before;
    left -= std::min(left, std::max<std::uint64_t>(done, 1));
    ran = true;
    const bool still_runs = running_ < paths_.size() && paths_[running_].state == Path::State::ready && done >= turn;
    long_turns_ = still_runs ? long_turns_ + 1 : 0;
    if (!still_runs) continue;
    const auto path = paths_.begin() + static_cast<std::ptrdiff_t>(running_);
    std::rotate(paths_.begin(), path, path + 1);
    if (long_turns_ >= kPatience) let_waiting_lanes_go();
  }
  std::erase_if(paths_, [](const Path& path) { return path.state == Path::State::done; });
  return ran;
}

// A lane that runs for ever may wait for one that waits for it where their ways meet: for a lock, for example. Those that are there go on.
void WarpRunner::let_waiting_lanes_go() {
  long_turns_ = 0;
  for (auto join = joins_.rbegin(); join != joins_.rend(); ++join) {
    if (join->arrived == 0) continue;
    Path path;
    path.mask = join->arrived;
    path.pc = join->pc;
    path.frame = join->frame;
    path.join = join->parent;
    join->expected &= ~join->arrived;
    join->arrived = 0;
    paths_.push_back(path);
    return;
  }
}

void WarpRunner::spend(std::uint64_t instructions) {
  if (budget_ == nullptr) return;
  if (*budget_ <= instructions)
    throw Fault{std::countr_zero(paths_[running_].mask), "the kernel has run for as many instructions as it may, and has not ended",
                Failure::no_end};
  *budget_ -= instructions;
}

// Until the path ends, waits, or has run for its turn. Only control instructions look at the time: nothing runs long without them.
template <bool kCount>
void WarpRunner::run_path(std::uint64_t most) {
  const std::uint64_t end = warp_.instructions + most;
  std::uint64_t spent = warp_.instructions;
  while (true) {
    Path* path = &paths_[running_];
    frame_ = path->frame;
    const Instruction* code = frame_->code->instructions.data();
    warp_.registers = frame_->registers;
    warp_.code = frame_->code;
    warp_.frame_local = frame_->local;
    std::uint32_t pc = path->pc;
    const Mask mask = path->mask;
    Mask active = mask;
    const Instruction* at = nullptr;
    for (;; ++pc) {
      at = code + pc;
      active = mask;
      if (at->guarded != Instruction::Guard::none) {
        const Mask guard = warp_.predicate(at->guard);
        active &= at->guarded == Instruction::Guard::when ? guard : ~guard;
      }
      if (at->control != Control::none) break;
      ++warp_.instructions;
      if (active == 0) continue;
      current_ = at;
      if constexpr (kCount) counts_->note(*frame_->code, *at, warp_, active);
      at->execute(warp_, *at, active);
    }
    current_ = at;
    path->pc = pc;
    if (at->control != Control::join && at->control != Control::finish) {  // these are not in the program
      ++warp_.instructions;
      if constexpr (kCount) counts_->note_control(*frame_->code, *at, warp_, active, mask);
    }
    spend(warp_.instructions - spent);
    spent = warp_.instructions;
    switch (at->control) {
      case Control::join:
        if (!arrive_at_join(*path)) return;
        break;
      case Control::branch:
        branch(*path, active, at->slots[0], at->slots[1]);
        break;
      case Control::branch_table:
        branch_by_table(*at, active);
        break;
      case Control::call:
        call(*path, *at, active);
        break;
      case Control::finish:
        if (!return_from(*path)) return;
        break;
      case Control::exit:
        ++path->pc;
        if (active != 0) leave(*path, active);
        if (paths_[running_].state == Path::State::done) return;
        break;
      case Control::block_barrier:
        if (active == 0) {
          ++path->pc;
          break;
        }
        path->arrived = active;
        barriers_.arrive(warp_, *path, *at, active);
        gives_way_ = at->operation->mode != 1;
        if (gives_way_) return;
        break;
      case Control::warp_barrier:
        if (active == 0) {
          ++path->pc;
        } else if (!pass_warp_barrier(*path, *at, active)) {
          return;
        }
        break;
      case Control::none:
        break;
    }
    if (warp_.instructions >= end) return;
  }
}

int WarpRunner::meet(Path& path, std::uint32_t place) {
  if (path.join >= 0) {
    const Join& join = joins_[static_cast<std::size_t>(path.join)];
    if (join.pc == place && join.frame == path.frame) return path.join;
  }
  joins_.push_back({place, path.mask, 0, path.join, path.frame});
  return static_cast<int>(joins_.size()) - 1;
}

void WarpRunner::branch(Path& path, Mask taken, std::uint32_t target, std::uint32_t meeting) {
  if (taken == path.mask) {
    path.pc = target;
    return;
  }
  ++path.pc;
  if (taken == 0) return;
  path.join = meet(path, meeting);
  Join& join = joins_[static_cast<std::size_t>(path.join)];
  const Mask others = path.mask & ~taken;
  if (target == meeting) {  // those who jump are there already
    join.arrived |= taken;
    path.mask = others;
  } else if (path.pc == meeting) {
    join.arrived |= others;
    path.mask = taken;
    path.pc = target;
  } else {
    path.mask = others;
    Path jumps = path;
    jumps.mask = taken;
    jumps.pc = target;
    paths_.insert(paths_.begin() + static_cast<std::ptrdiff_t>(running_), jumps);
    ++running_;
  }
}

void WarpRunner::branch_by_table(const Instruction& instruction, Mask active) {
  const auto* index = warp_.lanes<std::uint32_t>(instruction.slots[0]);
  const std::uint32_t meeting = instruction.slots[1], count = instruction.slots[2];
  Mask left = active;
  while (true) {
    const int lane = std::countr_zero(left);
    const std::uint32_t which = index[lane];
    if (which >= count) throw Fault{lane, "a branch to entry " + std::to_string(which) + " of a table with " + std::to_string(count)};
    Mask same = 0;
    for (Mask others = left; others != 0; others &= others - 1) {
      const int i = std::countr_zero(others);
      if (index[i] == which) same |= Mask{1} << i;
    }
    Path& path = paths_[running_];
    const std::uint32_t target = instruction.slots[3 + which];
    left &= ~same;
    if (left == 0) {  // the last ones go on as this path
      path.mask = same;
      path.pc = target;
      return;
    }
    path.join = meet(path, meeting);
    path.mask = left;
    if (target == meeting) {
      joins_[static_cast<std::size_t>(path.join)].arrived |= same;
      continue;
    }
    Path jumps = path;
    jumps.mask = same;
    jumps.pc = target;
    paths_.insert(paths_.begin() + static_cast<std::ptrdiff_t>(running_), jumps);
    ++running_;
  }
}

bool WarpRunner::arrive_at_join(Path& path) {
  while (path.join >= 0) {
    Join& join = joins_[static_cast<std::size_t>(path.join)];
    if (join.pc != path.pc || join.frame != path.frame) break;
    join.arrived |= path.mask;
    if (join.arrived != (join.expected & ~warp_.exited)) {
      path.state = Path::State::done;
      return false;
    }
    path.mask = join.arrived;
    path.join = join.parent;
    join.arrived = join.expected = 0;
    while (!joins_.empty() && joins_.back().expected == 0) joins_.pop_back();
  }
  ++path.pc;
  return true;
}

void WarpRunner::leave(Path& path, Mask lanes) {
  warp_.exited |= lanes;
  path.mask &= ~lanes;
  const int join = path.join;
  if (path.mask == 0) {
    path.state = Path::State::done;
    settle(join);
  }
  for (Path& other : paths_) {  // those that wait for lanes of this warp look again
    if (other.state == Path::State::at_warp_barrier) other.state = Path::State::ready;
  }
  barriers_.threads_exited(std::popcount(lanes));
}

void WarpRunner::settle(int join) {
  while (join >= 0) {
    const Join& waiting = joins_[static_cast<std::size_t>(join)];
    const Mask left = waiting.expected & ~warp_.exited;
    if (left == 0) {  // all of them are gone
      join = waiting.parent;
      continue;
    }
    if (waiting.arrived != 0 && (waiting.arrived & ~warp_.exited) == left) {
      Path path;
      path.mask = left;
      path.pc = waiting.pc;
      path.frame = waiting.frame;
      path.join = join;
      joins_[static_cast<std::size_t>(join)].arrived = 0;
      paths_.push_back(path);
    }
    return;
  }
}

std::byte* WarpRunner::lane_local(int lane, std::uint64_t offset) {
  return warp_.local + static_cast<std::uint64_t>(lane) * warp_.local_bytes + offset;
}

void WarpRunner::call(Path& path, const Instruction& instruction, Mask active) {
  const std::uint32_t* slots = instruction.slots;
  const std::uint32_t* arguments = slots + 1 + slots[0];
  if (instruction.offset < 0) {
    call_device_function(warp_, instruction.offset, slots, active);
    ++path.pc;
    return;
  }
  const Code& callee = module_.function(instruction.offset);
  Frame* frame = new_frame(callee);
  frame->caller = path.frame;
  frame->return_to = path.pc + 1;
  frame->call = &instruction;
  frame->local = path.frame->local + path.frame->code->local_bytes;
  if (frame->local + callee.local_bytes > warp_.local_bytes)
    throw Fault{std::countr_zero(active), "the stack of a thread is full: functions call themselves too deep"};
  for (Mask left = active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    for (std::size_t k = 0; k < callee.parameters.size(); ++k) {
      std::memcpy(lane_local(lane, frame->local + callee.parameters[k].offset), lane_local(lane, path.frame->local + arguments[1 + k]),
                  callee.parameters[k].bytes);
    }
  }
  path.frame = frame;
  path.pc = 0;
}

bool WarpRunner::return_from(Path& path) {
  Frame* frame = path.frame;
  if (frame->caller == nullptr) {
    leave(path, path.mask);
    return false;
  }
  const Code& code = *frame->code;
  for (Mask left = path.mask; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    for (std::size_t k = 0; k < code.results.size(); ++k) {
      std::memcpy(lane_local(lane, frame->caller->local + frame->call->slots[1 + k]),
                  lane_local(lane, frame->local + code.results[k].offset), code.results[k].bytes);
    }
  }
  path.frame = frame->caller;
  path.pc = frame->return_to;
  frame->caller = nullptr;
  free_frames_.push_back(frame);
  return true;
}

// Lanes of the mask must be together. Where they are on several paths each path waits; the last one to come does the instruction for all.
bool WarpRunner::pass_warp_barrier(Path& path, const Instruction& instruction, Mask active) {
  const bool anywhere = instruction.operation->mode == 1;  // bar.warp.sync: not necessarily the same instruction
  std::uint32_t places = 0;
  for (const Parameter& parameter : instruction.operation->parameters) places += static_cast<std::uint32_t>(parameter.count);
  const auto* members = warp_.lanes<std::uint32_t>(instruction.slots[places - 1]);
  Mask needed = 0;
  for (Mask left = active; left != 0; left &= left - 1) needed |= members[std::countr_zero(left)];
  needed = present(needed);
  Mask together = active;
  if ((needed & ~active) != 0) {
    path.arrived = active;
    path.state = Path::State::at_warp_barrier;
    const auto waits_too = [&](const Path& other) {
      return other.state == Path::State::at_warp_barrier && other.frame == path.frame && (anywhere || other.pc == path.pc);
    };
    for (const Path& other : paths_) {
      if (waits_too(other)) together |= other.arrived;
    }
    if ((needed & ~together) != 0) return false;
    for (Path& other : paths_) {
      if (&other == &path || !waits_too(other)) continue;
      other.state = Path::State::ready;
      ++other.pc;
    }
    path.state = Path::State::ready;
  }
  instruction.execute(warp_, instruction, together);
  if (anywhere && warp_.checks != nullptr) {
    for (Mask left = active; left != 0;) {  // lanes with other masks meet other lanes
      const int lane = std::countr_zero(left);
      const Mask group = (members[lane] & together) | Mask{1} << lane;
      warp_.checks->warp_barrier(warp_.index, group);
      left &= ~group;
    }
  }
  ++path.pc;
  return true;
}

}  // namespace lockstep::ptx
