// Lanes of a warp that look at each other: shuffles, votes, matches, reductions.
//
// The loop that runs a warp brings all lanes of the member mask here together; it is each operation's last operand.
#include <bit>

#include "simulator/gpu/ptx/lanewise.h"
#include "simulator/gpu/ptx/operation_sets.h"

namespace lockstep::ptx {

namespace {

enum class Shuffle { up, down, butterfly, index };

// Slots: d, whether the source was in range, a, b, c (clamp and segment), members.
template <Shuffle kWay>
void shuffle(Warp& warp, const Instruction& instruction, Mask mask) {
  const std::uint32_t* slots = instruction.slots;
  auto* result = warp.lanes<std::uint32_t>(slots[0]);
  const auto* b = warp.lanes<std::uint32_t>(slots[3]);
  const auto* c = warp.lanes<std::uint32_t>(slots[4]);
  std::uint32_t given[kLanes], taken[kLanes];
  for (int i = 0; i < kLanes; ++i) given[i] = warp.lanes<std::uint32_t>(slots[2])[i];
  Mask found = 0;
  for (Mask left = mask; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const auto number = static_cast<std::uint32_t>(lane) & 31U;
    const std::uint32_t by = b[lane] & 31U, clamp = c[lane] & 31U, segment = c[lane] >> 8 & 31U;
    const std::uint32_t last = (number & segment) | (clamp & ~segment), first = number & segment;
    std::int32_t source = 0;
    bool in_range = false;
    if constexpr (kWay == Shuffle::up) {
      source = static_cast<std::int32_t>(number) - static_cast<std::int32_t>(by);
      in_range = source >= static_cast<std::int32_t>(last);
    } else if constexpr (kWay == Shuffle::down) {
      source = static_cast<std::int32_t>(number + by);
      in_range = source <= static_cast<std::int32_t>(last);
    } else if constexpr (kWay == Shuffle::butterfly) {
      source = static_cast<std::int32_t>(number ^ by);
      in_range = source <= static_cast<std::int32_t>(last);
    } else {
      source = static_cast<std::int32_t>(first | (by & ~segment));
      in_range = source <= static_cast<std::int32_t>(last);
    }
    if (!in_range) source = lane;
    taken[lane] = given[source];
    found |= static_cast<Mask>(in_range) << lane;
  }
  for (Mask left = mask; left != 0; left &= left - 1) {
    const int i = std::countr_zero(left);
    result[i] = taken[i];
  }
  Mask& predicate = warp.predicate(slots[1]);
  predicate = (predicate & ~mask) | found;
}

enum class Vote { all, any, same, ballot };

Mask members_of(Warp& warp, const Instruction& instruction, int slot, int lane) {
  return warp.lanes<std::uint32_t>(instruction.slots[slot])[lane];
}

// Slots: d, the predicate, members. The offset says that the predicate is negated.
template <Vote kVote>
void vote(Warp& warp, const Instruction& instruction, Mask mask) {
  const Mask given = instruction.offset != 0 ? ~warp.predicate(instruction.slots[1]) : warp.predicate(instruction.slots[1]);
  Mask answer = 0;
  for (Mask left = mask; left != 0; left &= left - 1) {
    const int i = std::countr_zero(left);
    const Mask voters = members_of(warp, instruction, 2, i) & mask;
    const Mask yes = given & voters;
    if constexpr (kVote == Vote::ballot) {
      warp.lanes<std::uint32_t>(instruction.slots[0])[i] = yes;
    } else {
      const bool holds = kVote == Vote::all ? yes == voters : kVote == Vote::any ? yes != 0 : yes == voters || yes == 0;
      answer |= static_cast<Mask>(holds) << i;
    }
  }
  if constexpr (kVote != Vote::ballot) {
    Mask& predicate = warp.predicate(instruction.slots[0]);
    predicate = (predicate & ~mask) | answer;
  }
}

// Slots: d, (whether all are equal,) a, members.
template <typename T, bool kAll>
void match(Warp& warp, const Instruction& instruction, Mask mask) {
  T value[kLanes];
  const std::uint32_t* slots = instruction.slots;
  for (int i = 0; i < kLanes; ++i) value[i] = warp.lanes<T>(slots[kAll ? 2 : 1])[i];
  Mask all_equal = 0;
  for (Mask left = mask; left != 0; left &= left - 1) {
    const int i = std::countr_zero(left);
    const Mask members = members_of(warp, instruction, kAll ? 3 : 2, i) & mask;
    Mask equal = 0;
    for (int j = 0; j < kLanes; ++j) equal |= static_cast<Mask>((members >> j & 1U) != 0 && value[j] == value[i]) << j;
    if constexpr (kAll) {
      all_equal |= static_cast<Mask>(equal == members) << i;
      if (equal != members) equal = 0;
    }
    warp.lanes<std::uint32_t>(slots[0])[i] = equal;
  }
  if constexpr (kAll) {
    Mask& predicate = warp.predicate(slots[1]);
    predicate = (predicate & ~mask) | all_equal;
  }
}

// The lowest member is elected. Slots: its number, whether it is oneself, members.
void elect(Warp& warp, const Instruction& instruction, Mask mask) {
  Mask elected = 0;
  for (Mask left = mask; left != 0; left &= left - 1) {
    const int i = std::countr_zero(left);
    const int leader = std::countr_zero(members_of(warp, instruction, 2, i) & mask);
    warp.lanes<std::uint32_t>(instruction.slots[0])[i] = static_cast<std::uint32_t>(leader);
    elected |= static_cast<Mask>(leader == i) << i;
  }
  Mask& predicate = warp.predicate(instruction.slots[1]);
  predicate = (predicate & ~mask) | elected;
}

void active_mask(Warp& warp, const Instruction& instruction, Mask mask) {
  for (Mask left = mask; left != 0; left &= left - 1) warp.lanes<std::uint32_t>(instruction.slots[0])[std::countr_zero(left)] = mask;
}

enum class Reduce { add, min, max, land, lor, lxor };
template <Reduce kRule, typename T>
void reduce(Warp& warp, const Instruction& instruction, Mask mask) {
  T value[kLanes];
  for (int i = 0; i < kLanes; ++i) value[i] = warp.lanes<T>(instruction.slots[1])[i];
  for (Mask left = mask; left != 0; left &= left - 1) {
    const int i = std::countr_zero(left);
    const Mask members = members_of(warp, instruction, 2, i) & mask;
    T result = value[i];
    for (Mask others = members & ~(Mask{1} << i); others != 0; others &= others - 1) {
      const T other = value[std::countr_zero(others)];
      if constexpr (kRule == Reduce::add) result = static_cast<T>(static_cast<std::uint32_t>(result) + static_cast<std::uint32_t>(other));
      if constexpr (kRule == Reduce::min) result = other < result ? other : result;
      if constexpr (kRule == Reduce::max) result = result < other ? other : result;
      if constexpr (kRule == Reduce::land) result &= other;
      if constexpr (kRule == Reduce::lor) result |= other;
      if constexpr (kRule == Reduce::lxor) result ^= other;
    }
    warp.lanes<T>(instruction.slots[0])[i] = result;
  }
}

Parameter place(Parameter::Role role, int bytes) {
  Parameter parameter;
  parameter.role = role;
  parameter.bytes = bytes;
  return parameter;
}
using Role = Parameter::Role;

void add_exchange(Table& table, std::string name, Execute execute, std::vector<Parameter> parameters,
                  Control control = Control::warp_barrier) {
  Operation operation;
  operation.name = std::move(name);
  operation.kind = Kind::exchange;
  operation.execute = execute;
  operation.control = control;
  operation.parameters = std::move(parameters);
  table.add(std::move(operation));
}

// A result that may stand beside a predicate: d|p.
Parameter with_predicate() {
  Parameter parameter = place(Role::write, 4);
  parameter.count = 2;
  parameter.beside_predicate = true;
  return parameter;
}

}  // namespace

void add_exchange_operations(Table& table) {
  const Parameter word = place(Role::read, 4), result = place(Role::write, 4), predicate = place(Role::read, 0);
  const std::vector<Parameter> shuffles = {with_predicate(), word, word, word, word};
  add_exchange(table, "shfl.sync.up.b32", &shuffle<Shuffle::up>, shuffles);
  add_exchange(table, "shfl.sync.down.b32", &shuffle<Shuffle::down>, shuffles);
  add_exchange(table, "shfl.sync.bfly.b32", &shuffle<Shuffle::butterfly>, shuffles);
  add_exchange(table, "shfl.sync.idx.b32", &shuffle<Shuffle::index>, shuffles);
  const std::vector<Parameter> votes = {place(Role::write, 0), predicate, word};
  add_exchange(table, "vote.sync.all.pred", &vote<Vote::all>, votes);
  add_exchange(table, "vote.sync.any.pred", &vote<Vote::any>, votes);
  add_exchange(table, "vote.sync.uni.pred", &vote<Vote::same>, votes);
  add_exchange(table, "vote.sync.ballot.b32", &vote<Vote::ballot>, {result, predicate, word});
  add_exchange(table, "match.any.sync.b32", &match<std::uint32_t, false>, {result, word, word});
  add_exchange(table, "match.any.sync.b64", &match<std::uint64_t, false>, {result, place(Role::read, 8), word});
  add_exchange(table, "match.all.sync.b32", &match<std::uint32_t, true>, {with_predicate(), word, word});
  add_exchange(table, "match.all.sync.b64", &match<std::uint64_t, true>, {with_predicate(), place(Role::read, 8), word});
  add_exchange(table, "elect.sync", &elect, {with_predicate(), word});
  add_exchange(table, "activemask.b32", &active_mask, {result}, Control::none);
  const std::vector<Parameter> reductions = {result, word, word};
  add_exchange(table, "redux.sync.add.u32", &reduce<Reduce::add, std::uint32_t>, reductions);
  add_exchange(table, "redux.sync.add.s32", &reduce<Reduce::add, std::int32_t>, reductions);
  add_exchange(table, "redux.sync.min.u32", &reduce<Reduce::min, std::uint32_t>, reductions);
  add_exchange(table, "redux.sync.min.s32", &reduce<Reduce::min, std::int32_t>, reductions);
  add_exchange(table, "redux.sync.max.u32", &reduce<Reduce::max, std::uint32_t>, reductions);
  add_exchange(table, "redux.sync.max.s32", &reduce<Reduce::max, std::int32_t>, reductions);
  add_exchange(table, "redux.sync.and.b32", &reduce<Reduce::land, std::uint32_t>, reductions);
  add_exchange(table, "redux.sync.or.b32", &reduce<Reduce::lor, std::uint32_t>, reductions);
  add_exchange(table, "redux.sync.xor.b32", &reduce<Reduce::lxor, std::uint32_t>, reductions);
}

}  // namespace lockstep::ptx
