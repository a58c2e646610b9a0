// Arithmetic of floats and doubles, rounded to nearest, and what has no rounding.
#include <cmath>

#include "simulator/gpu/ptx/float_rules.h"
#include "simulator/gpu/ptx/lanewise.h"
#include "simulator/gpu/ptx/operation_sets.h"

namespace lockstep::ptx {

namespace {

template <bool kFlush, bool kClamp>
float add(float a, float b) {
  return finished<kFlush, kClamp>(flushed<kFlush>(a) + flushed<kFlush>(b));
}
template <bool kFlush, bool kClamp>
float subtract(float a, float b) {
  return finished<kFlush, kClamp>(flushed<kFlush>(a) - flushed<kFlush>(b));
}
template <bool kFlush, bool kClamp>
float multiply(float a, float b) {
  return finished<kFlush, kClamp>(flushed<kFlush>(a) * flushed<kFlush>(b));
}
template <bool kFlush, bool kClamp>
float fused(float a, float b, float c) {
  return finished<kFlush, kClamp>(__builtin_fmaf(flushed<kFlush>(a), flushed<kFlush>(b), flushed<kFlush>(c)));
}
template <bool kFlush>
float divide(float a, float b) {
  return finished<kFlush, false>(flushed<kFlush>(a) / flushed<kFlush>(b));
}
template <bool kFlush>
float reciprocal(float a) {
  return finished<kFlush, false>(1.0F / flushed<kFlush>(a));
}
template <bool kFlush>
float square_root(float a) {
  return finished<kFlush, false>(__builtin_sqrtf(flushed<kFlush>(a)));
}

template <bool kFlush>
float magnitude(float a) {
  return flushed<kFlush>(std::bit_cast<float>(std::bit_cast<std::uint32_t>(a) & 0x7fffffffU));
}
template <bool kFlush>
float negate(float a) {
  return flushed<kFlush>(std::bit_cast<float>(std::bit_cast<std::uint32_t>(a) ^ 0x80000000U));
}
// The sign is the first operand's.
float with_sign(float a, float b) {
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(a) & 0x80000000U) | (std::bit_cast<std::uint32_t>(b) & 0x7fffffffU));
}
double with_sign(double a, double b) {
  constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
  return std::bit_cast<double>((std::bit_cast<std::uint64_t>(a) & kSign) | (std::bit_cast<std::uint64_t>(b) & ~kSign));
}

// A number wins over what is none (unless kNanWins), and -0 is below +0.
template <bool kNanWins, typename T>
T smaller(T a, T b) {
  const T number = a < b || (a == b && std::signbit(a)) ? a : b;
  if (a != a || b != b) return kNanWins || (a != a && b != b) ? std::numeric_limits<T>::quiet_NaN() : (a != a ? b : a);
  return number;
}
template <bool kNanWins, typename T>
T larger(T a, T b) {
  const T number = a > b || (a == b && !std::signbit(a)) ? a : b;
  if (a != a || b != b) return kNanWins || (a != a && b != b) ? std::numeric_limits<T>::quiet_NaN() : (a != a ? b : a);
  return number;
}
template <bool kFlush, bool kNanWins>
float minimum(float a, float b) {
  return one_nan(smaller<kNanWins>(flushed<kFlush>(a), flushed<kFlush>(b)));
}
template <bool kFlush, bool kNanWins>
float maximum(float a, float b) {
  return one_nan(larger<kNanWins>(flushed<kFlush>(a), flushed<kFlush>(b)));
}
double minimum_double(double a, double b) { return smaller<false>(a, b); }
double maximum_double(double a, double b) { return larger<false>(a, b); }

double add_double(double a, double b) { return a + b; }
double subtract_double(double a, double b) { return a - b; }
double multiply_double(double a, double b) { return a * b; }
double fused_double(double a, double b, double c) { return __builtin_fma(a, b, c); }
double divide_double(double a, double b) { return a / b; }
double reciprocal_double(double a) { return 1.0 / a; }
double square_root_double(double a) { return __builtin_sqrt(a); }
double magnitude_double(double a) { return std::bit_cast<double>(std::bit_cast<std::uint64_t>(a) & ~(std::uint64_t{1} << 63)); }
double negate_double(double a) { return std::bit_cast<double>(std::bit_cast<std::uint64_t>(a) ^ (std::uint64_t{1} << 63)); }

template <typename T>
bool is_finite(T a) {
  return std::isfinite(a);
}
template <typename T>
bool is_infinite(T a) {
  return std::isinf(a);
}
template <typename T>
bool is_number(T a) {
  return a == a;
}
template <typename T>
bool is_not_a_number(T a) {
  return a != a;
}
template <typename T>
bool is_normal(T a) {
  return std::isnormal(a);
}
template <typename T>
bool is_subnormal(T a) {
  return std::fpclassify(a) == FP_SUBNORMAL;
}

template <bool kFlush>
void add_flushing(Table& table) {
  const std::string end = kFlush ? ".ftz.f32" : ".f32";
  const std::string clamped = kFlush ? ".ftz.sat.f32" : ".sat.f32";
  for (const std::string& rounding : {std::string(), std::string(".rn")}) {
    add_lanewise<add<kFlush, false>>(table, "add" + rounding + end, Kind::floating);
    add_lanewise<add<kFlush, true>>(table, "add" + rounding + clamped, Kind::floating);
    add_lanewise<subtract<kFlush, false>>(table, "sub" + rounding + end, Kind::floating);
    add_lanewise<subtract<kFlush, true>>(table, "sub" + rounding + clamped, Kind::floating);
    add_lanewise<multiply<kFlush, false>>(table, "mul" + rounding + end, Kind::floating);
    add_lanewise<multiply<kFlush, true>>(table, "mul" + rounding + clamped, Kind::floating);
  }
  for (const std::string name : {"fma.rn", "mad.rn"}) {
    add_lanewise<fused<kFlush, false>>(table, name + end, Kind::floating);
    add_lanewise<fused<kFlush, true>>(table, name + clamped, Kind::floating);
  }
  add_lanewise<divide<kFlush>>(table, "div.rn" + end, Kind::special_function);
  add_lanewise<reciprocal<kFlush>>(table, "rcp.rn" + end, Kind::special_function);
  add_lanewise<square_root<kFlush>>(table, "sqrt.rn" + end, Kind::special_function);
  add_lanewise<magnitude<kFlush>>(table, "abs" + end, Kind::floating);
  add_lanewise<negate<kFlush>>(table, "neg" + end, Kind::floating);
  const std::string nan = kFlush ? ".ftz.NaN.f32" : ".NaN.f32";
  add_lanewise<minimum<kFlush, false>>(table, "min" + end, Kind::floating);
  add_lanewise<minimum<kFlush, true>>(table, "min" + nan, Kind::floating);
  add_lanewise<maximum<kFlush, false>>(table, "max" + end, Kind::floating);
  add_lanewise<maximum<kFlush, true>>(table, "max" + nan, Kind::floating);
}

template <typename T>
void add_tests(Table& table, const std::string& type, Kind kind) {
  add_lanewise<is_finite<T>>(table, "testp.finite." + type, kind);
  add_lanewise<is_infinite<T>>(table, "testp.infinite." + type, kind);
  add_lanewise<is_number<T>>(table, "testp.number." + type, kind);
  add_lanewise<is_not_a_number<T>>(table, "testp.notanumber." + type, kind);
  add_lanewise<is_normal<T>>(table, "testp.normal." + type, kind);
  add_lanewise<is_subnormal<T>>(table, "testp.subnormal." + type, kind);
}

}  // namespace

void add_float_operations(Table& table) {
  add_flushing<false>(table);
  add_flushing<true>(table);
  for (const std::string rounding : {"", ".rn"}) {
    add_lanewise<add_double>(table, "add" + rounding + ".f64", Kind::double_precision);
    add_lanewise<subtract_double>(table, "sub" + rounding + ".f64", Kind::double_precision);
    add_lanewise<multiply_double>(table, "mul" + rounding + ".f64", Kind::double_precision);
  }
  add_lanewise<fused_double>(table, "fma.rn.f64", Kind::double_precision);
  add_lanewise<fused_double>(table, "mad.rn.f64", Kind::double_precision);
  add_lanewise<divide_double>(table, "div.rn.f64", Kind::double_precision);
  add_lanewise<reciprocal_double>(table, "rcp.rn.f64", Kind::double_precision);
  add_lanewise<square_root_double>(table, "sqrt.rn.f64", Kind::double_precision);
  add_lanewise<magnitude_double>(table, "abs.f64", Kind::double_precision);
  add_lanewise<negate_double>(table, "neg.f64", Kind::double_precision);
  add_lanewise<minimum_double>(table, "min.f64", Kind::double_precision);
  add_lanewise<maximum_double>(table, "max.f64", Kind::double_precision);
  add_lanewise<static_cast<float (*)(float, float)>(with_sign)>(table, "copysign.f32", Kind::floating);
  add_lanewise<static_cast<double (*)(double, double)>(with_sign)>(table, "copysign.f64", Kind::double_precision);
  add_tests<float>(table, "f32", Kind::floating);
  add_tests<double>(table, "f64", Kind::double_precision);
}

}  // namespace lockstep::ptx
