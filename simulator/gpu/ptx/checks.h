// Check mode inside of a kernel: races between threads of a block in shared memory, races between blocks in global memory, and reads of
// bytes that were never written.
//
// A race is two accesses of the same byte, of which one writes, that nothing orders (block_order.h; blocks of a launch are ordered by
// nothing but a fence with an atomic behind it). Atomics race with no atomics, and neither do volatile accesses or those that name their
// order (ld.acquire, st.relaxed) among each other; writes of equal values are no race. The first finding ends the kernel with a sentence.
//
// One object sees a whole launch, its blocks one after the other.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "simulator/gpu/ptx/block_order.h"
#include "simulator/gpu/ptx/cells.h"
#include "simulator/gpu/ptx/module.h"
#include "simulator/gpu/ptx/warp.h"

namespace lockstep::ptx {

struct Bytes {
  std::uint64_t address = 0, count = 0;
};

// What is known of global memory, by addresses as the program has them. Asked once for each allocation that is used.
class WrittenMemory {
 public:
  virtual ~WrittenMemory() = default;
  virtual std::vector<Bytes> unwritten(Bytes allocation) const = 0;
};

std::string bytes_text(std::uint64_t bytes);  // "1 byte", "4 bytes"

// A thread's access to some bytes.
struct Use {
  enum class Kind : std::uint8_t { read, write, atomic, begin_copy };  // begin_copy: cp.async, which writes later
  Kind kind = Kind::read;
  int lane = 0;
  const std::byte* place = nullptr;  // on the host
  unsigned bytes = 0;
  const std::byte* value = nullptr;  // that is written; null where it is not known
};

class Checks {
 public:
  struct Wanted {
    bool races = false, unwritten = false;
  };
  // `memory` null: every byte of global memory counts as written.
  Checks(const Module& module, Wanted wanted, const WrittenMemory* memory) : module_(module), wanted_(wanted), memory_(memory) {}

  // From the machine.
  void begin_block(const Block& block);
  void use(const Warp& warp, const Instruction& instruction, const Use& use);  // allowed, and about to happen; throws a Fault
  void fence(const Warp& warp, const Instruction& instruction);
  void warp_barrier(int warp, Mask lanes) { order_.warp_barrier(warp, lanes); }
  void block_barrier() { order_.block_barrier(); }
  void part_barrier(std::uint32_t waiting, std::uint32_t arriving) { order_.part_barrier(waiting, arriving); }

  // What the launch has read and written of allocations that are not the module's, by address.
  struct Touched {
    Bytes bytes;
    bool written = false;
  };
  std::vector<Touched> touched();

 private:
  // A statement that accessed memory.
  struct Site {
    const Code* code = nullptr;
    const Instruction* instruction = nullptr;
    bool strong = false;    // volatile, or it names its order
    bool releases = false;  // as if there were a fence in front
  };
  // Who accessed: a thread of a block and a site; `strong` also of atomics.
  struct Party {
    std::uint32_t thread : 10 = 0, strong : 1 = 0, site : 21 = 0;
  };
  struct SharedAccess {
    Moment moment;
    Party party;
  };
  struct SharedCell {
    SharedAccess writer, readers[2];
    std::byte value[4]{};  // that the writer wrote
    bool copying = false;  // the writer has only begun
    SharedCell of_byte(std::size_t byte) const {
      SharedCell cell = *this;
      cell.value[0] = value[byte];
      return cell;
    }
  };
  struct GlobalAccess {
    std::uint32_t block = 0;  // counted from 1; 0: there was no access
    std::uint32_t fence = 0;
    Party party;
  };
  struct GlobalCell {
    GlobalAccess writer, readers[2];
    const GlobalCell& of_byte(std::size_t /*byte*/) const { return *this; }
  };
  // What other blocks see of a block: the fence that its atomics released last, and the one that they acquired.
  struct Ordered {
    std::uint32_t fenced = 0, released = 0, acquired = 0;
    bool synchronised = false;  // it has done an atomic at all
  };
  struct Allocation {
    const std::byte* begin = nullptr;
    std::uint64_t bytes = 0, address = 0;
    bool own = false;             // the module's, or without a WrittenMemory: not looked at
    std::vector<bool> unwritten;  // empty: all is written
  };

  Site& site_of(const Warp& warp, const Instruction& instruction, std::uint32_t& number);
  void use_shared(const Warp& warp, const Use& use, Party party);
  void use_global(const Warp& warp, const Use& use, Party party);
  void synchronise(const Use& use, const Site& site);
  bool before(const GlobalAccess& access) const;
  Allocation& allocation_of(const Block& block, const std::byte* place);
  void check_written(const Warp& warp, const Use& use);
  static std::uint64_t address_of(const Block& block, const std::byte* place);
  std::string thread_name(std::uint32_t thread) const;
  std::string party_text(Party party, bool wrote) const;
  [[noreturn]] void shared_race(const Warp& warp, const Use& use, Party now, const SharedAccess& other, bool other_wrote) const;
  [[noreturn]] void unfinished_copy(const Warp& warp, const Use& use, Party copies) const;
  [[noreturn]] void global_race(const Warp& warp, const Use& use, Party now, const GlobalAccess& other, bool other_wrote) const;

  const Module& module_;
  const Wanted wanted_;
  const WrittenMemory* const memory_;
  std::vector<Site> sites_;
  std::unordered_map<const Instruction*, std::uint32_t> site_numbers_;
  const Instruction* last_instruction_ = nullptr;
  std::uint32_t last_site_ = 0;

  BlockOrder order_;
  std::vector<Segment<SharedCell>> shared_;
  Dim grid_, threads_;
  std::uint32_t block_ = 0;  // that runs, from 1
  std::uint32_t fences_ = 1;
  std::unordered_map<std::uint32_t, Ordered> ordered_;
  std::unordered_map<const std::byte*, std::uint32_t> released_;  // by place: the last fence
  Cells<GlobalCell> global_;
  std::vector<Allocation> allocations_;
  std::size_t last_allocation_ = 0;
};

// For operations: says what a lane is about to do, where check mode is on.
inline void tell(const Warp& warp, const Instruction& instruction, const Use& use) {
  if (warp.checks != nullptr) warp.checks->use(warp, instruction, use);
}

}  // namespace lockstep::ptx
