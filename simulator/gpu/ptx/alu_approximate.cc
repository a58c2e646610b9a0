// Instructions with ".approx" and ".full": results within the error that PTX documents for them. They are computed more exactly than a GPU
// does, so a program sees at most this error here, and may see other last bits there.
#include <cmath>

#include "simulator/gpu/ptx/float_rules.h"
#include "simulator/gpu/ptx/lanewise.h"
#include "simulator/gpu/ptx/operation_sets.h"

namespace lockstep::ptx {

namespace {

template <bool kFlush>
float reciprocal(float a) {
  return finished<kFlush, false>(1.0F / flushed<kFlush>(a));
}
template <bool kFlush>
float square_root(float a) {
  return finished<kFlush, false>(std::sqrt(flushed<kFlush>(a)));
}
template <bool kFlush>
float reciprocal_root(float a) {
  return finished<kFlush, false>(static_cast<float>(1.0 / std::sqrt(static_cast<double>(flushed<kFlush>(a)))));
}
template <bool kFlush>
float power_of_two(float a) {
  return finished<kFlush, false>(std::exp2(flushed<kFlush>(a)));
}
template <bool kFlush>
float logarithm(float a) {
  return finished<kFlush, false>(std::log2(flushed<kFlush>(a)));
}
template <bool kFlush>
float sine(float a) {
  return finished<kFlush, false>(std::sin(flushed<kFlush>(a)));
}
template <bool kFlush>
float cosine(float a) {
  return finished<kFlush, false>(std::cos(flushed<kFlush>(a)));
}
float hyperbolic_tangent(float a) { return one_nan(std::tanh(a)); }

// A divisor above 2^126 gives 0, or NaN for an infinite dividend: its reciprocal is flushed on the way.
template <bool kFlush>
float divide(float a, float b) {
  const float x = flushed<kFlush>(a), y = flushed<kFlush>(b);
  const float size = std::fabs(y);
  if (size > 0x1p126F && size <= std::numeric_limits<float>::max()) return finished<kFlush, false>(x * std::copysign(0.0F, y));
  return finished<kFlush, false>(x / y);
}
template <bool kFlush>
float divide_full(float a, float b) {
  return finished<kFlush, false>(flushed<kFlush>(a) / flushed<kFlush>(b));
}

// The upper half of a double in, the upper half out.
double upper_half(double value) { return std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) & 0xffffffff00000000U); }
double flushed_double(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  return (bits >> 52 & 0x7ffU) == 0 ? std::bit_cast<double>(bits & (std::uint64_t{1} << 63)) : value;
}
double gross_reciprocal(double a) { return upper_half(flushed_double(1.0 / upper_half(flushed_double(a)))); }
double gross_reciprocal_root(double a) { return upper_half(1.0 / std::sqrt(upper_half(flushed_double(a)))); }
double reciprocal_root_double(double a) { return 1.0 / std::sqrt(a); }

template <bool kFlush>
void add_flushing(Table& table) {
  const std::string end = kFlush ? ".approx.ftz.f32" : ".approx.f32";
  add_lanewise<reciprocal<kFlush>>(table, "rcp" + end, Kind::special_function);
  add_lanewise<square_root<kFlush>>(table, "sqrt" + end, Kind::special_function);
  add_lanewise<reciprocal_root<kFlush>>(table, "rsqrt" + end, Kind::special_function);
  add_lanewise<power_of_two<kFlush>>(table, "ex2" + end, Kind::special_function);
  add_lanewise<logarithm<kFlush>>(table, "lg2" + end, Kind::special_function);
  add_lanewise<sine<kFlush>>(table, "sin" + end, Kind::special_function);
  add_lanewise<cosine<kFlush>>(table, "cos" + end, Kind::special_function);
  add_lanewise<divide<kFlush>>(table, "div" + end, Kind::special_function);
  add_lanewise<divide_full<kFlush>>(table, kFlush ? "div.full.ftz.f32" : "div.full.f32", Kind::special_function);
}

}  // namespace

void add_approximate_operations(Table& table) {
  add_flushing<false>(table);
  add_flushing<true>(table);
  add_lanewise<hyperbolic_tangent>(table, "tanh.approx.f32", Kind::special_function);
  add_lanewise<gross_reciprocal>(table, "rcp.approx.ftz.f64", Kind::special_function);
  add_lanewise<gross_reciprocal_root>(table, "rsqrt.approx.ftz.f64", Kind::special_function);
  add_lanewise<reciprocal_root_double>(table, "rsqrt.approx.f64", Kind::special_function);
}

}  // namespace lockstep::ptx
