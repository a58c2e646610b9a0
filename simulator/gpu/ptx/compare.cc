// Comparisons, and choices between two values.
#include <cmath>
#include <type_traits>

#include "simulator/gpu/ptx/float_rules.h"
#include "simulator/gpu/ptx/lanewise.h"
#include "simulator/gpu/ptx/operation_sets.h"

namespace lockstep::ptx {

namespace {

enum class Order { eq, ne, lt, le, gt, ge, equ, neu, ltu, leu, gtu, geu, num, nan };

inline float comparable(float value) { return value; }
inline double comparable(double value) { return value; }
inline float comparable(Half value) { return widen(value); }
inline float comparable(Bfloat value) { return widen(value); }
template <typename T>
requires std::is_integral_v<T>
inline T comparable(T value) { return value; }

// The orders with a "u" also hold where one is not a number.
template <Order kOrder, bool kFlush, typename T>
bool holds(T first, T second) {
  auto a = comparable(first), b = comparable(second);
  if constexpr (kFlush && std::is_same_v<T, float>) {
    a = flushed<true>(a);
    b = flushed<true>(b);
  } else if constexpr (kFlush) {
    a = std::fabs(a) < 0x1p-14F ? 0 : a;
    b = std::fabs(b) < 0x1p-14F ? 0 : b;
  }
  if constexpr (kOrder == Order::eq) return a == b;
  if constexpr (kOrder == Order::ne) return a < b || a > b;
  if constexpr (kOrder == Order::lt) return a < b;
  if constexpr (kOrder == Order::le) return a <= b;
  if constexpr (kOrder == Order::gt) return a > b;
  if constexpr (kOrder == Order::ge) return a >= b;
  if constexpr (kOrder == Order::equ) return !(a < b || a > b);
  if constexpr (kOrder == Order::neu) return !(a == b);
  if constexpr (kOrder == Order::ltu) return !(a >= b);
  if constexpr (kOrder == Order::leu) return !(a > b);
  if constexpr (kOrder == Order::gtu) return !(a <= b);
  if constexpr (kOrder == Order::geu) return !(a < b);
  if constexpr (kOrder == Order::num) return a == a && b == b;
  if constexpr (kOrder == Order::nan) return a != a || b != b;
}

template <auto Holds>
struct Compare;
template <typename T, bool (*Holds)(T, T)>
struct Compare<Holds> {
  [[gnu::noinline]] static Mask mask_of(Warp& warp, std::uint32_t first, std::uint32_t second) {
    const T* a = warp.lanes<T>(first);
    const T* b = warp.lanes<T>(second);
    Mask bits = 0;
    for (int i = 0; i < kLanes; ++i) bits |= static_cast<Mask>(Holds(a[i], b[i])) << i;
    return bits;
  }
  static constexpr int kBytes = sizeof(T);
  static constexpr bool kFloating = std::is_floating_point_v<T>;
};
// Both halves of a word: the lower ones' answer in the first predicate, the upper ones' in the second.
template <typename T, bool (*Holds)(T, T)>
bool low_holds(Pair<T> a, Pair<T> b) {
  return Holds(a.low, b.low);
}
template <typename T, bool (*Holds)(T, T)>
bool high_holds(Pair<T> a, Pair<T> b) {
  return Holds(a.high, b.high);
}

enum class Join : std::uint8_t { none, land, lor, lxor };
constexpr const char* kJoins[] = {"", ".and", ".or", ".xor"};

// Slots: p, q, a, b, c; the offset says that c is negated.
Mask joined(Warp& warp, const Instruction& instruction, Mask bits, std::uint32_t slot) {
  const auto join = static_cast<Join>(instruction.operation->mode);
  if (join == Join::none) return bits;
  const Mask c = instruction.offset != 0 ? ~warp.predicate(slot) : warp.predicate(slot);
  return join == Join::land ? bits & c : join == Join::lor ? bits | c : bits ^ c;
}
void keep(Warp& warp, std::uint32_t slot, Mask bits, Mask mask) {
  Mask& predicate = warp.predicate(slot);
  predicate = (predicate & ~mask) | (bits & mask);
}

template <typename First>
void set_predicates(Warp& warp, const Instruction& instruction, Mask mask) {
  const std::uint32_t* slots = instruction.slots;
  const Mask bits = First::mask_of(warp, slots[2], slots[3]);
  const Mask p = joined(warp, instruction, bits, slots[4]), q = joined(warp, instruction, ~bits, slots[4]);
  keep(warp, slots[0], p, mask);
  keep(warp, slots[1], q, mask);
}
template <typename Low, typename High>
void set_predicates_of_pairs(Warp& warp, const Instruction& instruction, Mask mask) {
  const std::uint32_t* slots = instruction.slots;
  const Mask low = Low::mask_of(warp, slots[2], slots[3]), high = High::mask_of(warp, slots[2], slots[3]);
  const Mask p = joined(warp, instruction, low, slots[4]), q = joined(warp, instruction, high, slots[4]);
  keep(warp, slots[0], p, mask);
  keep(warp, slots[1], q, mask);
}

// Slots: d, a, b, c. True is all ones, or 1.0.
template <typename First, bool kFloat>
void set_word(Warp& warp, const Instruction& instruction, Mask mask) {
  const Mask bits = joined(warp, instruction, First::mask_of(warp, instruction.slots[1], instruction.slots[2]), instruction.slots[3]);
  auto* result = warp.lanes<std::uint32_t>(instruction.slots[0]);
  for (int i = 0; i < kLanes; ++i) {
    if ((mask >> i & 1U) != 0) result[i] = (bits >> i & 1U) != 0 ? (kFloat ? 0x3f800000U : ~0U) : 0U;
  }
}
template <typename Low, typename High, std::uint32_t kTrue>
void set_pair(Warp& warp, const Instruction& instruction, Mask mask) {
  const std::uint32_t* slots = instruction.slots;
  const Mask low = joined(warp, instruction, Low::mask_of(warp, slots[1], slots[2]), slots[3]);
  const Mask high = joined(warp, instruction, High::mask_of(warp, slots[1], slots[2]), slots[3]);
  auto* result = warp.lanes<std::uint32_t>(slots[0]);
  for (int i = 0; i < kLanes; ++i) {
    if ((mask >> i & 1U) != 0) result[i] = ((low >> i & 1U) != 0 ? kTrue : 0U) | ((high >> i & 1U) != 0 ? kTrue << 16 : 0U);
  }
}

Parameter place(Parameter::Role role, int bytes, int count = 1, bool floating = false) {
  Parameter parameter;
  parameter.role = role;
  parameter.bytes = bytes;
  parameter.count = count;
  parameter.floating = floating;
  return parameter;
}

// `results`: 2 for setp, whose second predicate may be left out, and 1 for set.
void add_joins(Table& table, const std::string& opcode, const std::string& order, const std::string& end, Execute execute, int results,
               int bytes, bool floating) {
  using Role = Parameter::Role;
  for (std::uint8_t join = 0; join < 4; ++join) {
    Operation operation;
    operation.name = opcode + "." + order + kJoins[join] + end;
    operation.kind = Kind::compare;
    operation.execute = execute;
    operation.mode = join;
    operation.parameters = {place(Role::write, results == 2 ? 0 : 4, results), place(Role::read, bytes, 1, floating),
                            place(Role::read, bytes, 1, floating)};
    if (join != 0) operation.parameters.push_back(place(Role::read, 0));
    table.add(std::move(operation));
  }
}

template <typename T, Order kOrder, bool kFlush>
void add_order(Table& table, const std::string& order, const std::string& type) {
  using First = Compare<holds<kOrder, kFlush, T>>;
  const std::string end = (kFlush ? ".ftz." : ".") + type;
  add_joins(table, "setp", order, end, &set_predicates<First>, 2, First::kBytes, First::kFloating);
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, Bfloat>) {
    using Low = Compare<low_holds<T, holds<kOrder, kFlush, T>>>;
    using High = Compare<high_holds<T, holds<kOrder, kFlush, T>>>;
    constexpr std::uint32_t kOne = std::is_same_v<T, Half> ? 0x3c00U : 0x3f80U;
    const std::string flush = kFlush ? ".ftz" : "", pair = "." + type + "x2";
    add_joins(table, "setp", order, flush + pair, &set_predicates_of_pairs<Low, High>, 2, 4, false);
    add_joins(table, "set", order, flush + ".u32" + pair, &set_pair<Low, High, 0xffffU>, 1, 4, false);
    add_joins(table, "set", order, flush + pair + pair, &set_pair<Low, High, kOne>, 1, 4, false);
  } else {
    const std::string flush = kFlush ? ".ftz" : "";
    add_joins(table, "set", order, flush + ".u32." + type, &set_word<First, false>, 1, First::kBytes, First::kFloating);
    add_joins(table, "set", order, flush + ".s32." + type, &set_word<First, false>, 1, First::kBytes, First::kFloating);
    add_joins(table, "set", order, flush + ".f32." + type, &set_word<First, true>, 1, First::kBytes, First::kFloating);
  }
}

template <typename T>
void add_equality(Table& table, const std::string& type) {
  add_order<T, Order::eq, false>(table, "eq", type);
  add_order<T, Order::ne, false>(table, "ne", type);
}
template <typename T>
void add_integer_orders(Table& table, const std::string& type) {
  add_equality<T>(table, type);
  add_order<T, Order::lt, false>(table, "lt", type);
  add_order<T, Order::le, false>(table, "le", type);
  add_order<T, Order::gt, false>(table, "gt", type);
  add_order<T, Order::ge, false>(table, "ge", type);
  if constexpr (std::is_unsigned_v<T>) {
    add_order<T, Order::lt, false>(table, "lo", type);
    add_order<T, Order::le, false>(table, "ls", type);
    add_order<T, Order::gt, false>(table, "hi", type);
    add_order<T, Order::ge, false>(table, "hs", type);
  }
}
template <typename T, bool kFlush>
void add_float_orders(Table& table, const std::string& type) {
  add_order<T, Order::eq, kFlush>(table, "eq", type);
  add_order<T, Order::ne, kFlush>(table, "ne", type);
  add_order<T, Order::lt, kFlush>(table, "lt", type);
  add_order<T, Order::le, kFlush>(table, "le", type);
  add_order<T, Order::gt, kFlush>(table, "gt", type);
  add_order<T, Order::ge, kFlush>(table, "ge", type);
  add_order<T, Order::equ, kFlush>(table, "equ", type);
  add_order<T, Order::neu, kFlush>(table, "neu", type);
  add_order<T, Order::ltu, kFlush>(table, "ltu", type);
  add_order<T, Order::leu, kFlush>(table, "leu", type);
  add_order<T, Order::gtu, kFlush>(table, "gtu", type);
  add_order<T, Order::geu, kFlush>(table, "geu", type);
  add_order<T, Order::num, kFlush>(table, "num", type);
  add_order<T, Order::nan, kFlush>(table, "nan", type);
}

template <typename T>
T select_by_sign(T a, T b, std::int32_t c) {
  return c >= 0 ? a : b;
}
template <typename T, bool kFlush>
T select_by_float(T a, T b, float c) {
  return flushed<kFlush>(c) >= 0 ? a : b;  // NaN takes b
}
template <typename T>
void add_choices(Table& table, const std::string& type) {
  add_lanewise<chosen<T>>(table, "selp." + type, Kind::move);
  add_lanewise<select_by_sign<T>>(table, "slct." + type + ".s32", Kind::move);
  add_lanewise<select_by_float<T, false>>(table, "slct." + type + ".f32", Kind::move);
  add_lanewise<select_by_float<T, true>>(table, "slct.ftz." + type + ".f32", Kind::move);
}

}  // namespace

void add_compare_operations(Table& table) {
  add_equality<std::uint16_t>(table, "b16");
  add_equality<std::uint32_t>(table, "b32");
  add_equality<std::uint64_t>(table, "b64");
  add_integer_orders<std::uint16_t>(table, "u16");
  add_integer_orders<std::uint32_t>(table, "u32");
  add_integer_orders<std::uint64_t>(table, "u64");
  add_integer_orders<std::int16_t>(table, "s16");
  add_integer_orders<std::int32_t>(table, "s32");
  add_integer_orders<std::int64_t>(table, "s64");
  add_float_orders<float, false>(table, "f32");
  add_float_orders<float, true>(table, "f32");
  add_float_orders<double, false>(table, "f64");
  add_float_orders<Half, false>(table, "f16");
  add_float_orders<Half, true>(table, "f16");
  add_float_orders<Bfloat, false>(table, "bf16");
  for (const std::string kind : {"b", "u", "s"}) {
    add_choices<std::uint16_t>(table, kind + "16");
    add_choices<std::uint32_t>(table, kind + "32");
    add_choices<std::uint64_t>(table, kind + "64");
  }
  add_choices<float>(table, "f32");
  add_choices<double>(table, "f64");
}

}  // namespace lockstep::ptx
