// Comparisons, choices and conversions.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/simulator/gpu/ptx/support/reference_parts.h"

namespace lockstep::testing {

namespace {

__extension__ typedef __int128 Wide;  // NOLINT(modernize-use-using)

bool is_real(const std::string& type) { return type[0] == 'f' || type.substr(0, 2) == "bf"; }

Quad value_of(const std::string& type, std::uint64_t bits) {
  if (is_real(type)) return number_of(type, bits);
  const int width = width_of(type);
  Wide value = 0;
  for (int i = 0; i < width; ++i) value += (bits >> i & 1U) != 0 ? Wide{1} << i : Wide{0};
  if (is_signed_type(type) && (bits >> (width - 1) & 1U) != 0) value -= Wide{1} << width;
  return static_cast<Quad>(value);
}

bool holds(const std::string& order, Quad a, Quad b) {
  const bool nan = a != a || b != b;
  if (order == "num") return !nan;
  if (order == "nan") return nan;
  const bool or_nan = order.size() == 3 && order.back() == 'u';
  if (nan) return or_nan;
  const std::string plain = or_nan ? order.substr(0, 2) : order;
  if (plain == "eq") return a == b;
  if (plain == "ne") return a != b;
  if (plain == "lt" || plain == "lo") return a < b;
  if (plain == "le" || plain == "ls") return a <= b;
  if (plain == "gt" || plain == "hi") return a > b;
  return a >= b;
}

bool joined(const Parts& parts, bool answer, bool c) {
  if (has(parts, "and")) return answer && c;
  if (has(parts, "or")) return answer || c;
  if (has(parts, "xor")) return answer != c;
  return answer;
}

Quad flushed(const std::string& type, Quad value) {
  const double limit = type == "f16" ? 0x1p-14 : 0x1p-126;
  const Quad size = value < 0 ? -value : value;
  return size < static_cast<Quad>(limit) ? Quad{0} : value;
}

}  // namespace

Expected compare_reference(const Parts& parts, const Operands& o) {
  Expected result;
  result.known = true;
  const std::string& type = parts.back();
  const bool ftz = has(parts, "ftz");
  if (parts[0] == "selp") {
    result.type = type;
    result.bits = o[2] != 0 ? o[0] : o[1];
    return result;
  }
  if (parts[0] == "slct") {
    result.type = parts[parts.size() - 2];
    bool first = false;
    if (type == "s32") {
      first = (o[2] >> 31 & 1U) == 0;
    } else {
      const double c = number_of("f32", o[2]);
      first = (ftz && std::fabs(c) < 0x1p-126) || c >= 0;
    }
    result.bits = first ? o[0] : o[1];
    return result;
  }
  const std::string& order = parts[1];
  const bool c = o.size() > 2 && o[2] != 0;
  const bool pairs = type.size() > 2 && type.substr(type.size() - 2) == "x2";
  const std::string one = pairs ? type.substr(0, type.size() - 2) : type;
  const auto answer = [&](int shift) {
    Quad a = value_of(one, pairs ? o[0] >> shift & 0xffffU : o[0]), b = value_of(one, pairs ? o[1] >> shift & 0xffffU : o[1]);
    if (ftz) a = flushed(one, a), b = flushed(one, b);
    return holds(order, a, b);
  };
  const bool low = answer(0);
  if (parts[0] == "setp") {
    result.type = "pred";
    result.bits = joined(parts, low, c);
    result.second = joined(parts, pairs ? answer(16) : !low, c);
    return result;
  }
  const std::string& to = parts[parts.size() - 2];
  result.type = to;
  if (pairs) {
    const std::uint64_t yes = to == "u32" ? 0xffff : small_from(one, 1, "rn");
    result.bits = (joined(parts, low, c) ? yes : 0) | (joined(parts, answer(16), c) ? yes << 16 : 0);
  } else {
    result.bits = joined(parts, low, c) ? (to == "f32" ? 0x3f800000U : 0xffffffffU) : 0;
  }
  return result;
}

Expected convert_reference(const Parts& parts, const Operands& o) {
  Expected result;
  result.known = true;
  const std::string &from = parts.back(), &to = parts[parts.size() - 2];
  result.type = to;
  const std::string rounding = rounding_in(parts);
  const bool ftz = has(parts, "ftz"), sat = has(parts, "sat"), relu = has(parts, "relu");
  if (to == "tf32") {  // nearest of 10 bits of mantissa, ties away
    const double a = number_of("f32", o[0]);
    result.type = "b32";
    if (std::isnan(a)) {
      result.bits = 0x7fffffffU;
      return result;
    }
    float value = static_cast<float>(a);
    if (std::isfinite(a) && a != 0) {
      const double unit = std::ldexp(1.0, std::max(std::ilogb(a), -126) - 10);
      value = static_cast<float>(std::copysign(std::floor(std::fabs(a) / unit + 0.5) * unit, a));
      if (std::fabs(std::floor(std::fabs(a) / unit + 0.5) * unit) >= 0x1p128)
        value = std::copysign(std::numeric_limits<float>::infinity(), value);
    }
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, 4);
    result.bits = bits;
    return result;
  }
  if (to == "f16x2" || to == "bf16x2") {
    Parts one = parts;
    one[one.size() - 2] = to.substr(0, to.size() - 2);
    const Expected high = convert_reference(one, {o[0]}), low = convert_reference(one, {o[1]});
    result.bits = high.bits << 16 | low.bits;
    return result;
  }
  Quad value = value_of(from, o[0]);
  const bool negative_zero = is_real(from) && value == 0 && std::signbit(number_of(from, o[0]));
  if (ftz && from == "f32" && value == value && flushed("f32", value) == 0) value = negative_zero || value < 0 ? -Quad{0} : Quad{0};
  const bool to_whole = has(parts, rounding + "i") && value == value;
  if (to_whole) {
    double whole = static_cast<double>(value);
    whole = rounding == "rn"   ? std::nearbyint(whole)
            : rounding == "rz" ? std::trunc(whole)
            : rounding == "rm" ? std::floor(whole)
                               : std::ceil(whole);
    value = whole;
  }
  if (!is_real(to)) {
    const int width = width_of(to);
    const Wide low = is_signed_type(to) ? -(Wide{1} << (width - 1)) : Wide{0};
    const Wide high = (Wide{1} << (is_signed_type(to) ? width - 1 : width)) - 1;
    Wide whole = 0;
    if (value != value) {
      whole = from == "f64" || width == 64 ? Wide{1} << (width - 1) : 0;
    } else if (is_real(from) || sat) {
      whole = value < static_cast<Quad>(low) ? low : value > static_cast<Quad>(high) ? high : static_cast<Wide>(value);
    } else {
      whole = static_cast<Wide>(value);
    }
    result.bits = static_cast<std::uint64_t>(whole) & (width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1);
    // The register that holds a narrow result is filled with its sign.
    if (is_signed_type(to) && (result.bits >> (width - 1) & 1U) != 0 && width < 64) result.bits |= ~std::uint64_t{0} << width;
    return result;
  }
  if (to == "f16" || to == "bf16") {
    std::uint16_t bits = small_from(to, value, to_whole ? "rn" : rounding);
    const double got = small_value(to, bits);
    if (sat) bits = std::isnan(got) || got <= 0 ? 0 : got >= 1 ? small_from(to, 1, "rn") : bits;
    if (relu && !std::isnan(got) && got <= 0) bits = 0;
    result.bits = bits;
    return result;
  }
  if (to == "f32") {
    volatile float narrow = 0;
    {
      const HostRounding host(to_whole ? "rn" : rounding);
      const volatile Quad exact = value;
      narrow = static_cast<float>(exact);
    }
    float got = narrow;
    if (ftz) got = flushed_float(got);
    if (sat) got = std::isnan(got) || got <= 0 ? 0.0F : std::min(got, 1.0F);
    std::uint32_t bits = 0;
    std::memcpy(&bits, &got, 4);
    result.bits = std::isnan(got) ? 0x7fffffffU : bits;
    return result;
  }
  volatile double wide = 0;
  {
    const HostRounding host(to_whole ? "rn" : rounding);
    const volatile Quad exact = value;
    wide = static_cast<double>(exact);
  }
  double got = wide;
  if (sat) got = std::isnan(got) || got <= 0 ? 0.0 : std::min(got, 1.0);
  result.any_nan = true;
  std::memcpy(&result.bits, &got, 8);
  return result;
}

}  // namespace lockstep::testing
