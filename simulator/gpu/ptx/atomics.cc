// Atomic operations. Lanes take their turn in order, warps and blocks too, so what comes out depends on the program alone.
#include <bit>
#include <cstring>

#include "simulator/gpu/ptx/checks.h"
#include "simulator/gpu/ptx/float_rules.h"
#include "simulator/gpu/ptx/memory.h"
#include "simulator/gpu/ptx/narrowing.h"
#include "simulator/gpu/ptx/operation_sets.h"

namespace lockstep::ptx {

namespace {

enum class Rule { add, min, max, land, lor, lxor, exchange, compare, increment, decrement };

template <Rule kRule, typename T>
T next(T old, T b, [[maybe_unused]] T c, [[maybe_unused]] bool flush) {
  if constexpr (kRule == Rule::exchange)
    return b;
  else if constexpr (kRule == Rule::compare)
    return old == b ? c : old;
  else if constexpr (kRule == Rule::min)
    return b < old ? b : old;
  else if constexpr (kRule == Rule::max)
    return old < b ? b : old;
  else if constexpr (kRule == Rule::land)
    return old & b;
  else if constexpr (kRule == Rule::lor)
    return old | b;
  else if constexpr (kRule == Rule::lxor)
    return old ^ b;
  else if constexpr (kRule == Rule::increment)
    return old >= b ? T{0} : old + 1;
  else if constexpr (kRule == Rule::decrement)
    return old == 0 || old > b ? b : old - 1;
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(old) + static_cast<std::make_unsigned_t<T>>(b));
  else if constexpr (std::is_same_v<T, float>)
    return flush ? finished<true, false>(flushed<true>(old) + flushed<true>(b)) : one_nan(old + b);
  else if constexpr (std::is_same_v<T, double>)
    return old + b;
  else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, Bfloat>)
    return narrowed<T>(static_cast<double>(widen(old) + widen(b)));
  else
    return {next<kRule>(old.low, b.low, c.low, flush), next<kRule>(old.high, b.high, c.high, flush)};
}

// Slots: the old value (not of a reduction), the base of the address, b, and c of a comparison. In global memory floats are flushed.
template <Rule kRule, typename T, bool kOld>
void atomic(Warp& warp, const Instruction& instruction, Mask mask) {
  const std::uint32_t* slots = instruction.slots + (kOld ? 1 : 0);
  std::uint64_t addresses[kLanes];
  addresses_of(warp, instruction, slots[0], addresses);
  for (Mask left = mask; left != 0; left &= left - 1) {
    const int i = std::countr_zero(left);
    std::byte* place = located(warp, instruction.space, addresses[i], sizeof(T), i);
    const Space space = instruction.space == Space::generic ? space_of(addresses[i]) : instruction.space;
    tell(warp, instruction, {Use::Kind::atomic, i, place, sizeof(T), nullptr});
    T old;
    std::memcpy(&old, place, sizeof(T));
    const T b = warp.lanes<T>(slots[1])[i];
    const T c = kRule == Rule::compare ? warp.lanes<T>(slots[2])[i] : b;
    const T value = next<kRule>(old, b, c, space == Space::global);
    std::memcpy(place, &value, sizeof(T));
    if constexpr (kOld) warp.lanes<T>(instruction.slots[0])[i] = old;
  }
}

template <Rule kRule, typename T>
void add_rule(Table& table, const std::string& end) {
  for (const Space space : {Space::generic, Space::global, Space::shared}) {
    for (const bool old : {true, false}) {
      if (!old && (kRule == Rule::exchange || kRule == Rule::compare)) continue;
      Operation operation;
      operation.name = std::string(old ? "atom" : "red") + (space == Space::generic ? "" : "." + std::string(name_of(space))) + "." + end;
      operation.kind = Kind::atomic;
      operation.execute = old ? &atomic<kRule, T, true> : &atomic<kRule, T, false>;
      operation.space = space;
      operation.bytes = sizeof(T);
      Parameter value, address;
      value.bytes = sizeof(T);
      value.floating = std::is_floating_point_v<T>;
      address.role = Parameter::Role::address;
      operation.parameters = {address, value};
      if (kRule == Rule::compare) operation.parameters.push_back(value);
      if (old) {
        value.role = Parameter::Role::write;
        operation.parameters.insert(operation.parameters.begin(), value);
      }
      table.add(std::move(operation));
    }
  }
}

template <typename T>
void add_bitwise(Table& table, const std::string& type) {
  add_rule<Rule::land, T>(table, "and." + type);
  add_rule<Rule::lor, T>(table, "or." + type);
  add_rule<Rule::lxor, T>(table, "xor." + type);
  add_rule<Rule::exchange, T>(table, "exch." + type);
  add_rule<Rule::compare, T>(table, "cas." + type);
}
template <typename T>
void add_extremes(Table& table, const std::string& type) {
  add_rule<Rule::min, T>(table, "min." + type);
  add_rule<Rule::max, T>(table, "max." + type);
}

}  // namespace

void add_atomic_operations(Table& table) {
  add_rule<Rule::add, std::uint32_t>(table, "add.u32");
  add_rule<Rule::add, std::int32_t>(table, "add.s32");
  add_rule<Rule::add, std::uint64_t>(table, "add.u64");
  add_rule<Rule::add, float>(table, "add.f32");
  add_rule<Rule::add, double>(table, "add.f64");
  add_rule<Rule::add, Half>(table, "add.noftz.f16");
  add_rule<Rule::add, Pair<Half>>(table, "add.noftz.f16x2");
  add_rule<Rule::add, Bfloat>(table, "add.noftz.bf16");
  add_rule<Rule::add, Pair<Bfloat>>(table, "add.noftz.bf16x2");
  add_extremes<std::uint32_t>(table, "u32");
  add_extremes<std::int32_t>(table, "s32");
  add_extremes<std::uint64_t>(table, "u64");
  add_extremes<std::int64_t>(table, "s64");
  add_bitwise<std::uint32_t>(table, "b32");
  add_bitwise<std::uint64_t>(table, "b64");
  add_rule<Rule::compare, std::uint16_t>(table, "cas.b16");
  add_rule<Rule::increment, std::uint32_t>(table, "inc.u32");
  add_rule<Rule::decrement, std::uint32_t>(table, "dec.u32");
}

}  // namespace lockstep::ptx
