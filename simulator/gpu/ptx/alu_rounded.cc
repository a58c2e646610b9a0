// Arithmetic rounded towards zero, down or up. The host's own rounding is switched for each value: slow, and rare.
#include <cmath>

#include "simulator/gpu/ptx/float_rules.h"
#include "simulator/gpu/ptx/lanewise.h"
#include "simulator/gpu/ptx/operation_sets.h"

namespace lockstep::ptx {

namespace {

enum class Rule { add, subtract, multiply, fused, divide, reciprocal, square_root };

template <Rule kRule, typename T>
T computed(T a, T b, T c) {
  if constexpr (kRule == Rule::add) return a + b;
  if constexpr (kRule == Rule::subtract) return a - b;
  if constexpr (kRule == Rule::multiply) return a * b;
  if constexpr (kRule == Rule::fused) return std::fma(a, b, c);
  if constexpr (kRule == Rule::divide) return a / b;
  if constexpr (kRule == Rule::reciprocal) return T{1} / a;
  if constexpr (kRule == Rule::square_root) return std::sqrt(a);
}
template <Round kRound, Rule kRule, typename T>
T rounded(T a, T b, T c) {
  const Rounding rounding(kRound);
  return pinned(computed<kRule>(pinned(a), pinned(b), pinned(c)));
}

template <Round kRound, Rule kRule, bool kFlush, bool kClamp>
float one(float a) {
  return finished<kFlush, kClamp>(rounded<kRound, kRule>(flushed<kFlush>(a), 0.0F, 0.0F));
}
template <Round kRound, Rule kRule, bool kFlush, bool kClamp>
float two(float a, float b) {
  return finished<kFlush, kClamp>(rounded<kRound, kRule>(flushed<kFlush>(a), flushed<kFlush>(b), 0.0F));
}
template <Round kRound, Rule kRule, bool kFlush, bool kClamp>
float three(float a, float b, float c) {
  return finished<kFlush, kClamp>(rounded<kRound, kRule>(flushed<kFlush>(a), flushed<kFlush>(b), flushed<kFlush>(c)));
}
template <Round kRound, Rule kRule>
double one_double(double a) {
  return rounded<kRound, kRule>(a, 0.0, 0.0);
}
template <Round kRound, Rule kRule>
double two_doubles(double a, double b) {
  return rounded<kRound, kRule>(a, b, 0.0);
}
template <Round kRound>
double three_doubles(double a, double b, double c) {
  return rounded<kRound, Rule::fused>(a, b, c);
}

template <Round kRound, bool kFlush>
void add_floats(Table& table, const std::string& rounding) {
  const std::string end = rounding + (kFlush ? ".ftz.f32" : ".f32");
  const std::string clamped = rounding + (kFlush ? ".ftz.sat.f32" : ".sat.f32");
  add_lanewise<two<kRound, Rule::add, kFlush, false>>(table, "add" + end, Kind::floating);
  add_lanewise<two<kRound, Rule::add, kFlush, true>>(table, "add" + clamped, Kind::floating);
  add_lanewise<two<kRound, Rule::subtract, kFlush, false>>(table, "sub" + end, Kind::floating);
  add_lanewise<two<kRound, Rule::subtract, kFlush, true>>(table, "sub" + clamped, Kind::floating);
  add_lanewise<two<kRound, Rule::multiply, kFlush, false>>(table, "mul" + end, Kind::floating);
  add_lanewise<two<kRound, Rule::multiply, kFlush, true>>(table, "mul" + clamped, Kind::floating);
  add_lanewise<three<kRound, Rule::fused, kFlush, false>>(table, "fma" + end, Kind::floating);
  add_lanewise<three<kRound, Rule::fused, kFlush, true>>(table, "fma" + clamped, Kind::floating);
  add_lanewise<two<kRound, Rule::divide, kFlush, false>>(table, "div" + end, Kind::special_function);
  add_lanewise<one<kRound, Rule::reciprocal, kFlush, false>>(table, "rcp" + end, Kind::special_function);
  add_lanewise<one<kRound, Rule::square_root, kFlush, false>>(table, "sqrt" + end, Kind::special_function);
}

template <Round kRound>
void add_all(Table& table, const std::string& rounding) {
  add_floats<kRound, false>(table, rounding);
  add_floats<kRound, true>(table, rounding);
  const std::string end = rounding + ".f64";
  add_lanewise<two_doubles<kRound, Rule::add>>(table, "add" + end, Kind::double_precision);
  add_lanewise<two_doubles<kRound, Rule::subtract>>(table, "sub" + end, Kind::double_precision);
  add_lanewise<two_doubles<kRound, Rule::multiply>>(table, "mul" + end, Kind::double_precision);
  add_lanewise<three_doubles<kRound>>(table, "fma" + end, Kind::double_precision);
  add_lanewise<two_doubles<kRound, Rule::divide>>(table, "div" + end, Kind::double_precision);
  add_lanewise<one_double<kRound, Rule::reciprocal>>(table, "rcp" + end, Kind::double_precision);
  add_lanewise<one_double<kRound, Rule::square_root>>(table, "sqrt" + end, Kind::double_precision);
}

}  // namespace

void add_rounded_operations(Table& table) {
  add_all<Round::zero>(table, ".rz");
  add_all<Round::down>(table, ".rm");
  add_all<Round::up>(table, ".rp");
}

}  // namespace lockstep::ptx
