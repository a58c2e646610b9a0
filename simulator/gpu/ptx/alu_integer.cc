// Sums, products, quotients and extremes of integers.
#include <algorithm>
#include <limits>
#include <type_traits>

#include "simulator/gpu/ptx/lanewise.h"
#include "simulator/gpu/ptx/operation_sets.h"

namespace lockstep::ptx {

namespace {

template <typename T>
using Unsigned = std::make_unsigned_t<T>;
template <typename T>
using Wide = std::conditional_t<sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>,
                                std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>;
__extension__ typedef __int128 Signed128;
__extension__ typedef unsigned __int128 Unsigned128;

// Wrapping, in a type that small ones are not promoted out of.
template <typename T>
using Wrapping = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

template <typename T>
T add(T a, T b) {
  return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
}
template <typename T>
T subtract(T a, T b) {
  return static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b));
}
template <typename T>
T multiply_low(T a, T b) {
  return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
}
template <typename T>
T multiply_high(T a, T b) {
  if constexpr (sizeof(T) == 8) {
    using Product = std::conditional_t<std::is_signed_v<T>, Signed128, Unsigned128>;
    return static_cast<T>((static_cast<Product>(a) * static_cast<Product>(b)) >> 64);
  } else {
    return static_cast<T>((static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b)) >> (8 * sizeof(T)));
  }
}
template <typename T>
Wide<T> multiply_wide(T a, T b) {
  return static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b);
}
template <typename T>
T multiply_add_low(T a, T b, T c) {
  return add(multiply_low(a, b), c);
}
template <typename T>
T multiply_add_high(T a, T b, T c) {
  return add(multiply_high(a, b), c);
}
template <typename T>
Wide<T> multiply_add_wide(T a, T b, Wide<T> c) {
  return add(multiply_wide(a, b), c);
}
std::int32_t clamped(std::int64_t value) {
  return static_cast<std::int32_t>(
      std::clamp<std::int64_t>(value, std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()));
}
std::int32_t add_saturating(std::int32_t a, std::int32_t b) { return clamped(static_cast<std::int64_t>(a) + b); }
std::int32_t subtract_saturating(std::int32_t a, std::int32_t b) { return clamped(static_cast<std::int64_t>(a) - b); }
std::int32_t multiply_add_high_saturating(std::int32_t a, std::int32_t b, std::int32_t c) {
  return clamped(static_cast<std::int64_t>(multiply_high(a, b)) + c);
}

// By 24 bits of each.
template <typename T>
std::int64_t product24(T a, T b) {
  const auto low24 = [](T value) { return static_cast<std::int64_t>(static_cast<T>(static_cast<std::uint32_t>(value) << 8) >> 8); };
  return low24(a) * low24(b);
}
template <typename T>
T multiply24_low(T a, T b) {
  return static_cast<T>(product24(a, b));
}
template <typename T>
T multiply24_high(T a, T b) {
  return static_cast<T>(product24(a, b) >> 16);
}
template <typename T>
T multiply_add24_low(T a, T b, T c) {
  return add(multiply24_low(a, b), c);
}
template <typename T>
T multiply_add24_high(T a, T b, T c) {
  return add(multiply24_high(a, b), c);
}

// A division by zero gives all ones, as GPUs do; PTX leaves it open. The host would stop the program.
template <typename T>
T divide(T a, T b) {
  if constexpr (sizeof(T) == 4) {  // exact, since a double holds both; and the host has vectors of such divisions
    const double divisor = b == 0 || (std::is_signed_v<T> && b == static_cast<T>(-1)) ? 1.0 : static_cast<double>(b);
    const T quotient = static_cast<T>(static_cast<double>(a) / divisor);
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return subtract(T{0}, a);
    }
    return b == 0 ? static_cast<T>(~T{0}) : quotient;
  }
  if (b == 0) return static_cast<T>(~T{0});
  if constexpr (std::is_signed_v<T>) {
    if (b == T{-1}) return subtract(T{0}, a);
  }
  return static_cast<T>(a / b);
}
template <typename T>
T remainder(T a, T b) {
  if constexpr (sizeof(T) == 4) return b == 0 ? a : subtract(a, multiply_low(divide(a, b), b));
  if (b == 0) return a;
  if constexpr (std::is_signed_v<T>) {
    if (b == T{-1}) return 0;
  }
  return static_cast<T>(a % b);
}
template <typename T>
T magnitude(T a) {
  return a < 0 ? subtract(T{0}, a) : a;
}
template <typename T>
T negate(T a) {
  return subtract(T{0}, a);
}
template <typename T>
T smaller(T a, T b) {
  return b < a ? b : a;
}
template <typename T>
T larger(T a, T b) {
  return a < b ? b : a;
}
template <typename T>
T smaller_relu(T a, T b) {
  return larger(smaller(a, b), T{0});
}
template <typename T>
T larger_relu(T a, T b) {
  return larger(larger(a, b), T{0});
}
template <typename T>
T sum_of_differences(T a, T b, T c) {
  return add(c, a < b ? subtract(b, a) : subtract(a, b));
}

// Four products of bytes, or two of halves of a word with two bytes of another.
template <typename A, typename B, typename C>
C dot4(std::uint32_t a, std::uint32_t b, C c) {
  auto sum = static_cast<std::int64_t>(c);
  for (int k = 0; k < 4; ++k) sum += static_cast<std::int64_t>(static_cast<A>(a >> (8 * k))) * static_cast<B>(b >> (8 * k));
  return static_cast<C>(sum);
}
template <typename A, typename B, typename C, int kFirst>
C dot2(std::uint32_t a, std::uint32_t b, C c) {
  auto sum = static_cast<std::int64_t>(c);
  for (int k = 0; k < 2; ++k) sum += static_cast<std::int64_t>(static_cast<A>(a >> (16 * k))) * static_cast<B>(b >> (8 * (k + kFirst)));
  return static_cast<C>(sum);
}

template <typename T>
void add_arithmetic(Table& table, const std::string& type) {
  add_lanewise<add<T>>(table, "add." + type, Kind::integer);
  add_lanewise<subtract<T>>(table, "sub." + type, Kind::integer);
  add_lanewise<multiply_low<T>>(table, "mul.lo." + type, Kind::integer);
  add_lanewise<multiply_high<T>>(table, "mul.hi." + type, Kind::integer);
  add_lanewise<multiply_add_low<T>>(table, "mad.lo." + type, Kind::integer);
  add_lanewise<multiply_add_high<T>>(table, "mad.hi." + type, Kind::integer);
  if constexpr (sizeof(T) < 8) {
    add_lanewise<multiply_wide<T>>(table, "mul.wide." + type, Kind::integer);
    add_lanewise<multiply_add_wide<T>>(table, "mad.wide." + type, Kind::integer);
  }
  add_lanewise<divide<T>>(table, "div." + type, Kind::integer);
  add_lanewise<remainder<T>>(table, "rem." + type, Kind::integer);
  add_lanewise<smaller<T>>(table, "min." + type, Kind::integer);
  add_lanewise<larger<T>>(table, "max." + type, Kind::integer);
  add_lanewise<sum_of_differences<T>>(table, "sad." + type, Kind::integer);
  if constexpr (std::is_signed_v<T>) {
    add_lanewise<magnitude<T>>(table, "abs." + type, Kind::integer);
    add_lanewise<negate<T>>(table, "neg." + type, Kind::integer);
  }
}

template <typename T>
void add_24_bits(Table& table, const std::string& type) {
  add_lanewise<multiply24_low<T>>(table, "mul24.lo." + type, Kind::integer);
  add_lanewise<multiply24_high<T>>(table, "mul24.hi." + type, Kind::integer);
  add_lanewise<multiply_add24_low<T>>(table, "mad24.lo." + type, Kind::integer);
  add_lanewise<multiply_add24_high<T>>(table, "mad24.hi." + type, Kind::integer);
}

template <typename A, typename B>
void add_dots(Table& table, const std::string& types) {
  using C = std::conditional_t<std::is_signed_v<A> || std::is_signed_v<B>, std::int32_t, std::uint32_t>;
  using A16 = std::conditional_t<std::is_signed_v<A>, std::int16_t, std::uint16_t>;
  add_lanewise<dot4<A, B, C>>(table, "dp4a." + types, Kind::integer);
  add_lanewise<dot2<A16, B, C, 0>>(table, "dp2a.lo." + types, Kind::integer);
  add_lanewise<dot2<A16, B, C, 2>>(table, "dp2a.hi." + types, Kind::integer);
}

// Sums with the condition code: each lane has one, a bit of Warp::carry.
template <typename T, bool kSubtract, bool kIn, bool kOut>
void add_carrying(Warp& warp, const Instruction& instruction, Mask mask) {
  T* result = warp.lanes<T>(instruction.slots[0]);
  const T* a = warp.lanes<T>(instruction.slots[1]);
  const T* b = warp.lanes<T>(instruction.slots[2]);
  const Mask before = warp.carry;
  for (int i = 0; i < kLanes; ++i) {
    if ((mask >> i & 1U) == 0) continue;
    const T in = kIn ? static_cast<T>(before >> i & 1U) : T{0};
    const T first = kSubtract ? static_cast<T>(a[i] - b[i]) : static_cast<T>(a[i] + b[i]);
    const T second = kSubtract ? static_cast<T>(first - in) : static_cast<T>(first + in);
    const bool out = kSubtract ? a[i] < b[i] || first < in : first < a[i] || second < first;
    if constexpr (kOut) warp.carry = (warp.carry & ~(Mask{1} << i)) | (static_cast<Mask>(out) << i);
    result[i] = second;
  }
}
template <typename T, bool kHigh, bool kIn, bool kOut>
void multiply_carrying(Warp& warp, const Instruction& instruction, Mask mask) {
  using U = std::make_unsigned_t<T>;
  U* result = warp.lanes<U>(instruction.slots[0]);
  const T* a = warp.lanes<T>(instruction.slots[1]);
  const T* b = warp.lanes<T>(instruction.slots[2]);
  const U* c = warp.lanes<U>(instruction.slots[3]);
  const Mask before = warp.carry;
  for (int i = 0; i < kLanes; ++i) {
    if ((mask >> i & 1U) == 0) continue;
    const U in = kIn ? static_cast<U>(before >> i & 1U) : U{0};
    const auto product = static_cast<U>(kHigh ? multiply_high(a[i], b[i]) : multiply_low(a[i], b[i]));
    const U first = product + c[i];
    const U second = first + in;
    if constexpr (kOut) warp.carry = (warp.carry & ~(Mask{1} << i)) | (static_cast<Mask>(first < product || second < first) << i);
    result[i] = second;
  }
}

void add_operation(Table& table, std::string name, Execute execute, int bytes, int sources) {
  Operation operation;
  operation.name = std::move(name);
  operation.execute = execute;
  operation.parameters.assign(static_cast<std::size_t>(sources) + 1, Parameter{Parameter::Role::read, bytes});
  operation.parameters[0].role = Parameter::Role::write;
  table.add(std::move(operation));
}

template <typename T>
void add_carry_operations(Table& table, const std::string& type) {
  using U = std::make_unsigned_t<T>;
  constexpr int kBytes = sizeof(T);
  add_operation(table, "add.cc." + type, &add_carrying<U, false, false, true>, kBytes, 2);
  add_operation(table, "addc." + type, &add_carrying<U, false, true, false>, kBytes, 2);
  add_operation(table, "addc.cc." + type, &add_carrying<U, false, true, true>, kBytes, 2);
  add_operation(table, "sub.cc." + type, &add_carrying<U, true, false, true>, kBytes, 2);
  add_operation(table, "subc." + type, &add_carrying<U, true, true, false>, kBytes, 2);
  add_operation(table, "subc.cc." + type, &add_carrying<U, true, true, true>, kBytes, 2);
  add_operation(table, "mad.lo.cc." + type, &multiply_carrying<T, false, false, true>, kBytes, 3);
  add_operation(table, "mad.hi.cc." + type, &multiply_carrying<T, true, false, true>, kBytes, 3);
  add_operation(table, "madc.lo." + type, &multiply_carrying<T, false, true, false>, kBytes, 3);
  add_operation(table, "madc.hi." + type, &multiply_carrying<T, true, true, false>, kBytes, 3);
  add_operation(table, "madc.lo.cc." + type, &multiply_carrying<T, false, true, true>, kBytes, 3);
  add_operation(table, "madc.hi.cc." + type, &multiply_carrying<T, true, true, true>, kBytes, 3);
}

}  // namespace

void add_integer_operations(Table& table) {
  add_arithmetic<std::uint16_t>(table, "u16");
  add_arithmetic<std::int16_t>(table, "s16");
  add_arithmetic<std::uint32_t>(table, "u32");
  add_arithmetic<std::int32_t>(table, "s32");
  add_arithmetic<std::uint64_t>(table, "u64");
  add_arithmetic<std::int64_t>(table, "s64");
  add_lanewise<add_saturating>(table, "add.sat.s32", Kind::integer);
  add_lanewise<subtract_saturating>(table, "sub.sat.s32", Kind::integer);
  add_lanewise<multiply_add_high_saturating>(table, "mad.hi.sat.s32", Kind::integer);
  add_lanewise<smaller_relu<std::int32_t>>(table, "min.relu.s32", Kind::integer);
  add_lanewise<larger_relu<std::int32_t>>(table, "max.relu.s32", Kind::integer);
  add_24_bits<std::uint32_t>(table, "u32");
  add_24_bits<std::int32_t>(table, "s32");
  add_dots<std::uint8_t, std::uint8_t>(table, "u32.u32");
  add_dots<std::uint8_t, std::int8_t>(table, "u32.s32");
  add_dots<std::int8_t, std::uint8_t>(table, "s32.u32");
  add_dots<std::int8_t, std::int8_t>(table, "s32.s32");
  add_carry_operations<std::uint32_t>(table, "u32");
  add_carry_operations<std::int32_t>(table, "s32");
  add_carry_operations<std::uint64_t>(table, "u64");
  add_carry_operations<std::int64_t>(table, "s64");
}

}  // namespace lockstep::ptx
