// Floats, doubles and halves: the host's own arithmetic with its rounding switched, and tables of all halves.
#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/simulator/gpu/ptx/support/reference_parts.h"

namespace lockstep::testing {

HostRounding::HostRounding(const std::string& rounding) {
  std::fesetround(rounding == "rz" ? FE_TOWARDZERO : rounding == "rm" ? FE_DOWNWARD : rounding == "rp" ? FE_UPWARD : FE_TONEAREST);
}
HostRounding::~HostRounding() { std::fesetround(FE_TONEAREST); }

std::string rounding_in(const Parts& parts) {
  for (const std::string& part : parts) {
    for (const char* name : {"rn", "rz", "rm", "rp"}) {
      if (part == name || part == std::string(name) + "i") return name;
    }
  }
  return "rn";
}

int width_of(const std::string& type) {
  if (type.size() > 2 && type.substr(type.size() - 2) == "x2") return 32;
  return std::stoi(type.substr(type.find_first_of("0123456789")));
}

float flushed_float(float value) { return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0F, value) : value; }

double small_value(const std::string& type, std::uint16_t bits) {
  const int mantissa_bits = type == "f16" ? 10 : 7, bias = type == "f16" ? 15 : 127;
  const int exponent = (bits & 0x7fff) >> mantissa_bits, mantissa = bits & ((1 << mantissa_bits) - 1);
  const int top = type == "f16" ? 31 : 255;
  double value = 0;
  if (exponent == top)
    value = mantissa == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  else if (exponent == 0)
    value = std::ldexp(mantissa, 1 - bias - mantissa_bits);
  else
    value = std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
  return (bits & 0x8000) != 0 ? -value : value;
}

std::uint16_t small_from(const std::string& type, Quad value, const std::string& rounding) {
  if (value != value) return 0x7fff;
  const bool negative = value < 0 || (value == 0 && std::signbit(static_cast<double>(value)));
  const Quad size = negative ? -value : value;
  const std::uint16_t sign = negative ? 0x8000 : 0, infinity = type == "f16" ? 0x7c00 : 0x7f80;
  // The largest one that is not above: bits of positive numbers are in their order.
  std::uint16_t low = 0, high = infinity;
  while (low < high) {
    const auto middle = static_cast<std::uint16_t>((low + high + 1) / 2);
    if (static_cast<Quad>(small_value(type, middle)) <= size)
      low = middle;
    else
      high = static_cast<std::uint16_t>(middle - 1);
  }
  const Quad below = small_value(type, low);
  if (below == size) return sign | low;
  const auto next = static_cast<std::uint16_t>(low + 1);
  // Beyond the largest the next one counts as if the range went on.
  const Quad step = low == 0 ? static_cast<Quad>(small_value(type, 1))
                             : below - static_cast<Quad>(small_value(type, static_cast<std::uint16_t>(low - 1)));
  const Quad above = next == infinity ? below + step : static_cast<Quad>(small_value(type, next));
  bool up = false;
  if (rounding == "rn") up = size - below > above - size || (size - below == above - size && (low & 1U) != 0);
  if (rounding == "rm") up = negative;
  if (rounding == "rp") up = !negative;
  return sign | (up ? next : low);
}

namespace {

template <typename T>
T from_bits(std::uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}
template <typename T>
std::uint64_t to_bits(T value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return bits;
}

template <typename T>
T smallest_of(T a, T b, bool largest, bool nan) {
  if (std::isnan(a) || std::isnan(b)) {
    if (nan || (std::isnan(a) && std::isnan(b))) return std::numeric_limits<T>::quiet_NaN();
    return std::isnan(a) ? b : a;
  }
  if (a == b) return std::signbit(a) == largest ? b : a;
  return (a < b) != largest ? a : b;
}

// Instructions whose result is only near the true one.
template <typename T>
bool approximate(const Parts& parts, T a, T b, Expected& result, T& value) {
  const std::string& op = parts[0];
  const bool full = has(parts, "full");
  if (!full && !has(parts, "approx")) return false;
  const auto x = static_cast<long double>(a), y = static_cast<long double>(b);
  long double exact = 0;
  if (op == "div") {
    const bool flushed_away = !full && std::fabs(b) > 0x1p126F && std::isfinite(b);
    exact = flushed_away ? (std::isinf(a) ? std::numeric_limits<long double>::quiet_NaN() : x * std::copysign(0.0L, y)) : x / y;
    result.error = 0x1p-22;
  } else if (op == "rcp")
    exact = 1 / x, result.error = sizeof(T) == 8 ? 0x1p-19 : 0x1p-23;
  else if (op == "sqrt")
    exact = std::sqrt(x), result.error = 0x1p-23;
  else if (op == "rsqrt")
    exact = 1 / std::sqrt(x), result.error = sizeof(T) == 8 ? 0x1p-19 : 0x1p-22;
  else if (op == "ex2")
    exact = std::exp2(x), result.error = 0x1p-22;
  else if (op == "lg2")
    exact = std::log2(x), result.error = 0x1p-22;
  else if (op == "sin")
    exact = std::sin(x), result.error = 0x1p-20;
  else if (op == "cos")
    exact = std::cos(x), result.error = 0x1p-20;
  else if (op == "tanh")
    exact = std::tanh(x), result.error = 0x1p-11;
  else
    return false;
  value = static_cast<T>(exact);
  return true;
}

template <typename T>
Expected real_reference(const Parts& parts, const Operands& o) {
  Expected result;
  result.known = true;
  result.type = sizeof(T) == 4 ? "f32" : "f64";
  result.any_nan = sizeof(T) == 8;
  const std::string& op = parts[0];
  const bool ftz = has(parts, "ftz");
  const auto in = [&](std::size_t i) -> T {
    const T value = i < o.size() ? from_bits<T>(o[i]) : T{0};
    if constexpr (sizeof(T) == 4) return ftz ? flushed_float(value) : value;
    if (ftz && std::fpclassify(value) == FP_SUBNORMAL) return std::copysign(T{0}, value);
    return value;
  };
  if (op == "testp") {
    result.type = "pred";
    const T a = from_bits<T>(o[0]);
    const int kind = std::fpclassify(a);
    result.bits = has(parts, "finite")       ? kind != FP_NAN && kind != FP_INFINITE
                  : has(parts, "infinite")   ? kind == FP_INFINITE
                  : has(parts, "number")     ? kind != FP_NAN
                  : has(parts, "notanumber") ? kind == FP_NAN
                  : has(parts, "normal")     ? kind == FP_NORMAL
                                             : kind == FP_SUBNORMAL;
    return result;
  }
  if (op == "mov") {
    result.bits = o[0];
    result.any_nan = false;
    return result;
  }
  constexpr std::uint64_t kSign = std::uint64_t{1} << (8 * sizeof(T) - 1);
  if (op == "copysign") {
    result.bits = (o[0] & kSign) | (o[1] & (kSign - 1));
    return result;
  }
  if (op == "abs" || op == "neg") {
    const std::uint64_t bits = to_bits(in(0));
    result.bits = op == "abs" ? bits & ~kSign : bits ^ kSign;
    return result;
  }
  T value = 0;
  {
    const HostRounding rounding(rounding_in(parts));
    const volatile T a = in(0), b = in(1), c = in(2);
    volatile T got = 0;
    if (op == "add")
      got = a + b;
    else if (op == "sub")
      got = a - b;
    else if (op == "mul")
      got = a * b;
    else if (op == "fma" || op == "mad")
      got = std::fma(a, b, c);
    else if (op == "div" && !has(parts, "approx") && !has(parts, "full"))
      got = a / b;
    else if (op == "rcp" && !has(parts, "approx"))
      got = T{1} / a;
    else if (op == "sqrt" && !has(parts, "approx"))
      got = std::sqrt(a);
    else if (op == "min" || op == "max")
      got = smallest_of<T>(a, b, op == "max", has(parts, "NaN"));
    else {
      T near = 0;
      result.known = approximate<T>(parts, a, b, result, near);
      got = near;
    }
    value = got;
  }
  if constexpr (sizeof(T) == 4) {
    if (ftz) value = flushed_float(value);
  } else if (ftz && std::fpclassify(value) == FP_SUBNORMAL) {
    value = std::copysign(T{0}, value);
  }
  if (has(parts, "sat")) value = std::isnan(value) || value <= 0 ? T{0} : std::min(value, T{1});
  result.bits = to_bits(value);
  if (sizeof(T) == 4 && std::isnan(value)) result.bits = 0x7fffffffU;
  return result;
}

// What is too small to be seen in 113 bits still decides between two neighbours.
Quad exact_sum(Quad a, Quad b) {
  const Quad sum = a + b;
  const double sliver = 0x1p-100;
  if (sum == a && b != 0 && a - a == 0) return a + ((a > 0) == (b > 0) ? a : -a) * static_cast<Quad>(sliver);
  if (sum == b && a != 0 && b - b == 0) return b + ((a > 0) == (b > 0) ? b : -b) * static_cast<Quad>(sliver);
  return sum;
}

}  // namespace

Expected float_reference(const Parts& parts, const Operands& o) {
  return parts.back() == "f32" ? real_reference<float>(parts, o) : real_reference<double>(parts, o);
}

Expected half_reference(const Parts& parts, const Operands& o) {
  Expected result;
  result.known = true;
  result.type = parts.back();
  std::string type = parts.back();
  const std::string& op = parts[0];
  if (type.back() == '2') {  // both halves by themselves
    type.resize(type.size() - 2);
    Parts one = parts;
    one.back() = type;
    Operands low = o, high = o;
    for (std::size_t i = 0; i < o.size(); ++i) {
      low[i] = o[i] & 0xffffU;
      high[i] = o[i] >> 16 & 0xffffU;
    }
    const Expected a = half_reference(one, low), b = half_reference(one, high);
    result.known = a.known && b.known;
    result.error = a.error;
    result.bits = a.bits | b.bits << 16;
    return result;
  }
  const bool ftz = has(parts, "ftz");
  const unsigned exponent = type == "f16" ? 0x7c00 : 0x7f80;
  const auto flush = [&](std::uint16_t bits) { return ftz && (bits & exponent) == 0 ? static_cast<std::uint16_t>(bits & 0x8000) : bits; };
  std::uint16_t in[3] = {};
  for (std::size_t i = 0; i < o.size() && i < 3; ++i) in[i] = flush(static_cast<std::uint16_t>(o[i]));
  const Quad a = small_value(type, in[0]), b = small_value(type, in[1]), c = small_value(type, in[2]);
  std::uint16_t bits = 0;
  if (op == "abs")
    bits = in[0] & 0x7fff;
  else if (op == "neg")
    bits = in[0] ^ 0x8000;
  else if (op == "add")
    bits = small_from(type, a + b, "rn");
  else if (op == "sub")
    bits = small_from(type, a - b, "rn");
  else if (op == "mul")
    bits = small_from(type, a * b, "rn");
  else if (op == "fma")
    bits = small_from(type, exact_sum(a * b, c), "rn");
  else if (op == "min" || op == "max") {
    const double value = smallest_of<double>(static_cast<double>(a), static_cast<double>(b), op == "max", has(parts, "NaN"));
    bits = std::isnan(value) ? 0x7fff : small_from(type, value, "rn");
  } else if (op == "ex2" || op == "tanh") {
    result.error = type == "f16" ? 0x1p-9 : 0x1p-7;
    bits = small_from(type, op == "ex2" ? std::exp2(static_cast<double>(a)) : std::tanh(static_cast<double>(a)), "rn");
  } else {
    result.known = false;
  }
  bits = flush(bits);
  const double value = small_value(type, bits);
  if (has(parts, "sat")) bits = std::isnan(value) || value <= 0 ? 0 : value >= 1 ? small_from(type, 1, "rn") : bits;
  if (has(parts, "relu") && !std::isnan(value) && value <= 0) bits = 0;
  result.bits = bits;
  return result;
}

}  // namespace lockstep::testing
