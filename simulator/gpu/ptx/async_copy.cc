// cp.async: copies from global to shared memory that run beside the program. They are written when their thread waits for them, as late as
// a GPU may do it, so a program that does not wait reads what was there before.
#include <bit>
#include <cstring>

#include "simulator/gpu/ptx/checks.h"
#include "simulator/gpu/ptx/matrix.h"
#include "simulator/gpu/ptx/memory.h"
#include "simulator/gpu/ptx/operation_sets.h"

namespace lockstep::ptx {

namespace {

enum Slot { kTo, kFrom, kOffsetLow, kOffsetHigh, kNarrow, kBytes, kPart };  // of the operands

std::uint64_t source_address(const Warp& warp, const Instruction& instruction, int lane) {
  const std::uint32_t* const slots = instruction.slots;
  const std::byte* const base = warp.registers + slots[kFrom];
  const std::uint64_t offset = slots[kOffsetLow] | std::uint64_t{slots[kOffsetHigh]} << 32;
  if (slots[kNarrow] == 0) return reinterpret_cast<const std::uint64_t*>(base)[lane] + offset;
  return reinterpret_cast<const std::uint32_t*>(base)[lane] + static_cast<std::uint32_t>(offset);
}

// Reads the first `part` bytes of the source and nothing else; zeros stand for the others.
void read_source(const Warp& warp, const Instruction& instruction, int lane, unsigned part, PendingCopy& copy) {
  if (part == 0) return;
  const std::uint64_t from = source_address(warp, instruction, lane);
  const bool whole = part == copy.bytes, misaligned = from % copy.bytes != 0;
  const std::byte* const first = located(warp, Space::global, from, whole || misaligned ? copy.bytes : 1, lane);
  if (!whole) located(warp, Space::global, from + part - 1, 1, lane);
  tell(warp, instruction, {Use::Kind::read, lane, first, part, nullptr});
  std::memcpy(copy.value.data(), first, part);
}

template <bool kHasPart>
void begin_copy(Warp& warp, const Instruction& instruction, Mask mask) {
  std::uint64_t to[kLanes];
  addresses_of(warp, instruction, instruction.slots[kTo], to);
  const bool large_only = instruction.operation->mode == 1;
  for (Mask left = mask; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    PendingCopy copy;
    copy.instruction = &instruction;
    copy.lane = lane;
    copy.group = warp.groups[static_cast<std::size_t>(lane)];
    copy.bytes = warp.lanes<std::uint32_t>(instruction.slots[kBytes])[lane];
    if (copy.bytes != 16 && (large_only || (copy.bytes != 4 && copy.bytes != 8))) {
      throw Fault{lane, "a copy of " + std::to_string(copy.bytes) + " bytes, and it is of " + (large_only ? "16" : "4, 8 or 16")};
    }
    unsigned part = copy.bytes;
    if constexpr (kHasPart) part = warp.lanes<std::uint32_t>(instruction.slots[kPart])[lane];
    if (part > copy.bytes) {
      throw Fault{lane, "a copy of " + std::to_string(copy.bytes) + " bytes from a source of " + std::to_string(part)};
    }
    copy.to = located(warp, Space::shared, to[lane], copy.bytes, lane);
    read_source(warp, instruction, lane, part, copy);
    tell(warp, instruction, {Use::Kind::begin_copy, lane, copy.to, copy.bytes, nullptr});
    warp.copies.push_back(copy);
  }
}

// Writes the copies for which `ends(copy)`, in the order in which they began.
template <typename F>
void end_copies(Warp& warp, Mask mask, const F& ends) {
  std::erase_if(warp.copies, [&](const PendingCopy& copy) {
    if ((mask >> copy.lane & 1U) == 0 || !ends(copy)) return false;
    tell(warp, *copy.instruction, {Use::Kind::write, copy.lane, copy.to, copy.bytes, copy.value.data()});
    std::memcpy(copy.to, copy.value.data(), copy.bytes);
    return true;
  });
}

void commit(Warp& warp, const Instruction& /*instruction*/, Mask mask) {
  for (Mask left = mask; left != 0; left &= left - 1) ++warp.groups[static_cast<std::size_t>(std::countr_zero(left))];
}

// All but the last groups, as many as the operand says.
void wait_group(Warp& warp, const Instruction& instruction, Mask mask) {
  const auto* const may_run = warp.lanes<std::uint32_t>(instruction.slots[0]);
  end_copies(warp, mask, [&](const PendingCopy& copy) {
    return std::uint64_t{copy.group} + may_run[copy.lane] < warp.groups[static_cast<std::size_t>(copy.lane)];
  });
}

void wait_all(Warp& warp, const Instruction& /*instruction*/, Mask mask) {
  end_copies(warp, mask, [](const PendingCopy&) { return true; });
}

void add_copy(Table& table, const std::string& name, Execute execute, std::vector<Parameter> parameters, int mode) {
  Operation operation;
  operation.name = name;
  operation.kind = Kind::load;
  operation.execute = execute;
  operation.space = Space::shared;
  operation.mode = static_cast<std::uint8_t>(mode);
  operation.parameters = std::move(parameters);
  table.add(std::move(operation));
}

}  // namespace

void add_copy_operations(Table& table) {
  const Parameter to = registers(Parameter::Role::address, 1, false), from = registers(Parameter::Role::source, 1, false),
                  bytes = registers(Parameter::Role::read, 1, false);
  for (const int mode : {0, 1}) {
    const std::string name = std::string("cp.async.") + (mode == 0 ? "ca" : "cg") + ".shared.global";
    add_copy(table, name, &begin_copy<false>, {to, from, bytes}, mode);
    add_copy(table, name + "/part", &begin_copy<true>, {to, from, bytes, bytes}, mode);
  }
  add_copy(table, "cp.async.commit_group", &commit, {}, 0);
  add_copy(table, "cp.async.wait_group", &wait_group, {bytes}, 0);
  add_copy(table, "cp.async.wait_all", &wait_all, {}, 0);
}

}  // namespace lockstep::ptx
