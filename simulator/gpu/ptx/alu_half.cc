// Arithmetic of half and bfloat16, one by one and in pairs.
#include <cmath>

#include "simulator/gpu/ptx/float_rules.h"
#include "simulator/gpu/ptx/lanewise.h"
#include "simulator/gpu/ptx/narrowing.h"
#include "simulator/gpu/ptx/operation_sets.h"

namespace lockstep::ptx {

namespace {

template <typename T>
inline constexpr bool kIsHalf = std::is_same_v<T, Half>;

// To nearest even, from the exact value or one that stands on the same side of every border.
template <typename T>
T narrow(float value) {
  if constexpr (kIsHalf<T>)
    return to_half(value);
  else
    return to_bfloat(value);
}
template <bool kFlush, typename T>
T flushed16(T value) {
  if constexpr (!kFlush) return value;
  const unsigned exponent = kIsHalf<T> ? 0x7c00U : 0x7f80U;
  return (value.bits & exponent) == 0 ? T{static_cast<std::uint16_t>(value.bits & 0x8000U)} : value;
}
template <bool kFlush, bool kClamp, typename T>
T finished16(float value) {
  if constexpr (kClamp) return narrow<T>(clamped_to_one(widen(flushed16<kFlush>(narrow<T>(value)))));
  return flushed16<kFlush>(narrow<T>(value));
}
template <bool kFlush, typename T>
float in(T value) {
  return widen(flushed16<kFlush>(value));
}

template <typename T, bool kFlush, bool kClamp>
T add(T a, T b) {
  return finished16<kFlush, kClamp, T>(in<kFlush>(a) + in<kFlush>(b));
}
template <typename T, bool kFlush, bool kClamp>
T subtract(T a, T b) {
  return finished16<kFlush, kClamp, T>(in<kFlush>(a) - in<kFlush>(b));
}
template <typename T, bool kFlush, bool kClamp>
T multiply(T a, T b) {
  const T product = flushed16<kFlush>(narrowed<T>(static_cast<double>(in<kFlush>(a)) * in<kFlush>(b)));
  if constexpr (kClamp) return narrow<T>(clamped_to_one(widen(product)));
  return product;
}
enum class After { nothing, clamp, relu };
template <typename T, bool kFlush, After kAfter>
T fused(T a, T b, T c) {
  // The product is exact in double; the sum keeps what it loses in its last bit (round to odd), so rounding once more is right.
  const double sum = sum_to_odd(static_cast<double>(in<kFlush>(a)) * in<kFlush>(b), in<kFlush>(c));
  T result = narrowed<T>(sum);
  result = flushed16<kFlush>(result);
  if constexpr (kAfter == After::clamp) return narrow<T>(clamped_to_one(widen(result)));
  if constexpr (kAfter == After::relu) return std::isnan(widen(result)) ? result : (widen(result) > 0 ? result : T{0});
  return result;
}
template <typename T, bool kFlush>
T magnitude(T a) {
  return flushed16<kFlush>(T{static_cast<std::uint16_t>(a.bits & 0x7fffU)});
}
template <typename T, bool kFlush>
T negate(T a) {
  return flushed16<kFlush>(T{static_cast<std::uint16_t>(a.bits ^ 0x8000U)});
}
template <typename T, bool kFlush, bool kNanWins, bool kLargest>
T extreme(T a, T b) {
  const T x = flushed16<kFlush>(a), y = flushed16<kFlush>(b);
  const float p = widen(x), q = widen(y);
  if (p != p || q != q) {
    if (kNanWins || (p != p && q != q)) return T{kHalfNan};
    return p != p ? y : x;
  }
  const bool first = kLargest ? p > q || (p == q && !std::signbit(p)) : p < q || (p == q && std::signbit(p));
  return first ? x : y;
}
template <typename T, bool kFlush>
T power_of_two(T a) {
  return finished16<kFlush, false, T>(std::exp2(in<kFlush>(a)));
}
template <typename T>
T hyperbolic_tangent(T a) {
  return narrow<T>(std::tanh(widen(a)));
}

template <auto Function>
struct Both;
template <typename T, typename... S, T (*Function)(S...)>
struct Both<Function> {
  static Pair<T> of(Pair<S>... pairs) { return {Function(pairs.low...), Function(pairs.high...)}; }
};

// One by one under `type`, and in pairs under `type`x2.
template <auto Function>
void add_both(Table& table, const std::string& name, const std::string& type) {
  add_lanewise<Function>(table, name + "." + type, Kind::half);
  add_lanewise<Both<Function>::of>(table, name + "." + type + "x2", Kind::half);
}

template <typename T, bool kFlush>
void add_arithmetic(Table& table, const std::string& type) {
  const std::string ftz = kFlush ? ".ftz" : "";
  for (const std::string rounding : {"", ".rn"}) {
    add_both<add<T, kFlush, false>>(table, "add" + rounding + ftz, type);
    add_both<subtract<T, kFlush, false>>(table, "sub" + rounding + ftz, type);
    add_both<multiply<T, kFlush, false>>(table, "mul" + rounding + ftz, type);
    if constexpr (kIsHalf<T>) {
      add_both<add<T, kFlush, true>>(table, "add" + rounding + ftz + ".sat", type);
      add_both<subtract<T, kFlush, true>>(table, "sub" + rounding + ftz + ".sat", type);
      add_both<multiply<T, kFlush, true>>(table, "mul" + rounding + ftz + ".sat", type);
    }
  }
  add_both<fused<T, kFlush, After::nothing>>(table, "fma.rn" + ftz, type);
  add_both<fused<T, kFlush, After::relu>>(table, "fma.rn" + ftz + ".relu", type);
  if constexpr (kIsHalf<T>) add_both<fused<T, kFlush, After::clamp>>(table, "fma.rn" + ftz + ".sat", type);
  add_both<magnitude<T, kFlush>>(table, "abs" + ftz, type);
  add_both<negate<T, kFlush>>(table, "neg" + ftz, type);
  add_both<extreme<T, kFlush, false, false>>(table, "min" + ftz, type);
  add_both<extreme<T, kFlush, true, false>>(table, "min" + ftz + ".NaN", type);
  add_both<extreme<T, kFlush, false, true>>(table, "max" + ftz, type);
  add_both<extreme<T, kFlush, true, true>>(table, "max" + ftz + ".NaN", type);
}

}  // namespace

void add_half_operations(Table& table) {
  add_arithmetic<Half, false>(table, "f16");
  add_arithmetic<Half, true>(table, "f16");
  add_arithmetic<Bfloat, false>(table, "bf16");
  add_both<power_of_two<Half, false>>(table, "ex2.approx", "f16");
  add_both<power_of_two<Bfloat, true>>(table, "ex2.approx.ftz", "bf16");
  add_both<hyperbolic_tangent<Half>>(table, "tanh.approx", "f16");
  add_both<hyperbolic_tangent<Bfloat>>(table, "tanh.approx", "bf16");
}

}  // namespace lockstep::ptx
