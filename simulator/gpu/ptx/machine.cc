// Blocks of a launch: memory, warps and barriers.
#include "simulator/gpu/ptx/machine.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "simulator/gpu/ptx/checks.h"
#include "simulator/gpu/ptx/counts.h"
#include "simulator/gpu/ptx/error.h"
#include "simulator/gpu/ptx/warp_runner.h"

namespace lockstep::ptx {

namespace {

constexpr std::uint64_t kTurnOfWarp = 1 << 20;  // instructions after which another warp of the block gets its turn
constexpr std::uint32_t kBarriers = 16;
constexpr std::uint64_t kMostSharedBytes = 232448;

std::string triple(std::uint64_t x, std::uint64_t y, std::uint64_t z) {
  return "(" + std::to_string(x) + ", " + std::to_string(y) + ", " + std::to_string(z) + ")";
}

class BlockRunner : public BlockBarriers {
 public:
  BlockRunner(const Module& module, const Code& kernel, const Launch& launch)
      : module_(module), kernel_(kernel), checks_(launch.checks), budget_(launch.budget) {
    block_.grid = launch.grid;
    block_.threads = launch.block;
    const std::uint64_t fixed = kernel.dynamic_shared || launch.shared_bytes > 0 ? kernel.dynamic_offset : kernel.static_shared_bytes;
    block_.shared_bytes = fixed + launch.shared_bytes;
    block_.dynamic_shared_bytes = launch.shared_bytes;
    shared_.resize(block_.shared_bytes + 128);
    block_.shared = shared_.data() + (128 - reinterpret_cast<std::uintptr_t>(shared_.data()) % 128) % 128;
    parameters_.assign(kernel.parameter_bytes + 16, std::byte{0});
    block_.parameters = parameters_.data() + (16 - reinterpret_cast<std::uintptr_t>(parameters_.data()) % 16) % 16;
    block_.parameter_bytes = kernel.parameter_bytes;
    std::copy(launch.parameters.begin(), launch.parameters.end(), block_.parameters);
    block_.printed = launch.printed;
    block_.memory = launch.memory;
    if (launch.memory != nullptr) {
      const auto own = [&](std::byte* data, std::uint64_t bytes) {
        block_.regions.push_back({reinterpret_cast<std::uint64_t>(data), bytes, data});
      };
      for (const Module::Memory& memory : module.memory()) own(memory.data, memory.bytes);
      own(block_.parameters, block_.parameter_bytes);
    }
    const auto warps = static_cast<int>((launch.block.volume() + kLanes - 1) / kLanes);
    for (int i = 0; i < warps; ++i) {
      warps_.push_back(std::make_unique<WarpRunner>(module, kernel, block_, i, *this, launch.counts));
      warps_.back()->warp().checks = checks_;
    }
  }

  void run(Dim index) {
    block_.index = index;
    std::memset(block_.shared, 0xff, block_.shared_bytes);  // nothing is written yet: what is read is not a number
    barriers_ = {};
    alive_ = block_.threads.volume();
    if (checks_ != nullptr) checks_->begin_block(block_);
    for (const auto& warp : warps_) warp->start(budget_ > 0 ? &budget_ : nullptr);
    while (alive_ > 0) {
      bool ran = false;
      for (const auto& warp : warps_) {
        try {
          ran = warp->run(kTurnOfWarp) || ran;
        } catch (const Fault& fault) {
          fail(*warp, fault);
        }
      }
      if (!ran) stuck();
    }
  }

  void arrive(Warp& warp, Path& path, const Instruction& instruction, Mask lanes) override {
    const int mode = instruction.operation->mode;
    const std::uint32_t* slots = instruction.slots + (mode >= 2 ? 1 : 0);
    const int first = std::countr_zero(lanes);
    const std::uint32_t id = warp.lanes<std::uint32_t>(slots[0])[first];
    if (id >= kBarriers) throw Fault{first, "a block has barriers 0 to 15, and this is " + std::to_string(id)};
    Barrier& barrier = barriers_[id];
    barrier.wanted = warp.lanes<std::uint32_t>(slots[1])[first];
    barrier.arrived += static_cast<std::uint64_t>(std::popcount(lanes));
    (mode == 1 ? barrier.arriving : barrier.waiting) |= std::uint32_t{1} << warp.index;
    if (mode >= 2) {
      const Mask bits = instruction.offset != 0 ? ~warp.predicate(slots[2]) : warp.predicate(slots[2]);
      barrier.ones += static_cast<std::uint32_t>(std::popcount(bits & lanes));
    }
    if (mode == 1) {
      ++path.pc;
    } else {
      path.state = Path::State::at_block_barrier;
      path.barrier = id;
    }
    release(id);
  }

  void threads_exited(int threads) override {
    alive_ -= static_cast<std::uint64_t>(threads);
    for (std::uint32_t id = 0; id < kBarriers; ++id) {
      if (barriers_[id].arrived > 0 && barriers_[id].wanted == 0) release(id);
    }
  }

 private:
  struct Barrier {
    std::uint64_t arrived = 0;
    std::uint64_t wanted = 0;                 // threads; 0: all that are alive
    std::uint32_t ones = 0;                   // predicates that hold, of bar.red
    std::uint32_t waiting = 0, arriving = 0;  // warps
  };

  void release(std::uint32_t id) {
    Barrier& barrier = barriers_[id];
    if (barrier.arrived < (barrier.wanted > 0 ? barrier.wanted : alive_)) return;
    for (const auto& warp : warps_) {
      for (Path& path : warp->paths()) {
        if (path.state != Path::State::at_block_barrier || path.barrier != id) continue;
        answer(*path.frame, path.frame->code->instructions[path.pc], path.arrived, barrier);
        path.state = Path::State::ready;
        ++path.pc;
      }
    }
    if (checks_ != nullptr) {
      if (barrier.arrived >= alive_ && barrier.arriving == 0) {
        checks_->block_barrier();
      } else {
        checks_->part_barrier(barrier.waiting, barrier.arriving);
      }
    }
    barrier = {};
  }

  // What bar.red gives: how many predicates held, whether all did, whether any did.
  static void answer(Frame& frame, const Instruction& instruction, Mask lanes, const Barrier& barrier) {
    const int mode = instruction.operation->mode;
    if (mode < 2) return;
    std::byte* place = frame.registers + instruction.slots[0];
    if (mode == 2) {
      for (Mask left = lanes; left != 0; left &= left - 1) reinterpret_cast<std::uint32_t*>(place)[std::countr_zero(left)] = barrier.ones;
    } else {
      auto& bits = *reinterpret_cast<Mask*>(place);
      const bool holds = mode == 3 ? barrier.ones == barrier.arrived : barrier.ones > 0;
      bits = (bits & ~lanes) | (holds ? lanes : 0);
    }
  }

  std::string where(const Code& code, const Instruction& instruction, std::uint64_t thread) const {
    const Dim& size = block_.threads;
    return "Kernel '" + kernel_.name + "', block " + triple(block_.index.x, block_.index.y, block_.index.z) + ", thread " +
           triple(thread % size.x, thread / size.x % size.y, thread / size.x / size.y) + ", " +
           module_.describe(code.places[instruction.place]);
  }

  [[noreturn]] void fail(WarpRunner& warp, const Fault& fault) const {
    const auto thread = static_cast<std::uint64_t>(warp.warp().index) * kLanes + static_cast<std::uint64_t>(fault.lane);
    if (warp.current() == nullptr) throw Error("Kernel '" + kernel_.name + "': " + fault.what + ".", fault.failure);
    throw Error(where(warp.current_code(), *warp.current(), thread) + ": " + fault.what + ".", fault.failure);
  }

  [[noreturn]] void stuck() const {
    for (const auto& warp : warps_) {
      for (const Path& path : warp->paths()) {
        const auto thread =
            static_cast<std::uint64_t>(warp->warp().index) * kLanes + static_cast<std::uint64_t>(std::countr_zero(path.mask));
        throw Error(where(*path.frame->code, path.frame->code->instructions[path.pc], thread) +
                    ": waits at a barrier that the other threads do not reach. Let all threads of the block come to it.");
      }
    }
    throw Error("Kernel '" + kernel_.name + "' does not go on, and no thread of it waits.");
  }

  const Module& module_;
  const Code& kernel_;
  Checks* checks_;
  std::uint64_t budget_;
  Block block_;
  std::vector<std::byte> shared_, parameters_;
  std::vector<std::unique_ptr<WarpRunner>> warps_;
  std::array<Barrier, kBarriers> barriers_{};
  std::uint64_t alive_ = 0;
};

}  // namespace

void check(const Code& kernel, const Launch& launch) {
  const auto refuse = [&](const std::string& what) { throw Error("Launch of kernel '" + kernel.name + "': " + what + "."); };
  const Dim &grid = launch.grid, &block = launch.block;
  const std::string shape = "a grid of " + triple(grid.x, grid.y, grid.z) + " with blocks of " + triple(block.x, block.y, block.z);
  if (!kernel.entry) refuse("this is no kernel");
  if (grid.volume() == 0 || grid.x > kMostGridX || grid.y > kMostGridYZ || grid.z > kMostGridYZ)
    refuse(shape + " is past the limits of the grid");
  if (block.volume() == 0 || block.x > kMostThreads || block.y > kMostThreads || block.z > kMostBlockZ || block.volume() > kMostThreads) {
    refuse(shape + " is past the limits of a block, which has at most 1024 threads");
  }
  const auto& required = kernel.required_threads;
  if (required[0] > 0 && (block.x != required[0] || block.y != required[1] || block.z != required[2])) {
    refuse(
        shape + ", and the kernel requires blocks of " +
        triple(static_cast<std::uint64_t>(required[0]), static_cast<std::uint64_t>(required[1]), static_cast<std::uint64_t>(required[2])));
  }
  if (kernel.most_threads > 0 && block.volume() > static_cast<std::uint64_t>(kernel.most_threads)) {
    refuse(shape + ", and the kernel is compiled for at most " + std::to_string(kernel.most_threads) + " threads");
  }
  if (kernel.dynamic_offset + std::uint64_t{launch.shared_bytes} > kMostSharedBytes) {
    refuse(std::to_string(launch.shared_bytes) + " bytes of dynamic shared memory are more than a GPU has");
  }
  if (launch.parameters.size() != kernel.parameter_bytes) {
    refuse("the kernel takes " + std::to_string(kernel.parameter_bytes) + " bytes of parameters and got " +
           std::to_string(launch.parameters.size()));
  }
}

void run_blocks(const Module& module, const Code& kernel, const Launch& launch, std::uint64_t first, std::uint64_t last) {
  BlockRunner runner(module, kernel, launch);
  const std::uint64_t x = launch.grid.x, y = launch.grid.y;
  for (std::uint64_t block = first; block < last; ++block) {
    runner.run(
        {static_cast<std::uint32_t>(block % x), static_cast<std::uint32_t>(block / x % y), static_cast<std::uint32_t>(block / x / y)});
  }
}

void launch(const Module& module, const Code& kernel, const Launch& launch) {
  check(kernel, launch);
  run_blocks(module, kernel, launch, 0, launch.grid.volume());
}

}  // namespace lockstep::ptx
