// Integers and bits, in 128-bit arithmetic.
#include <algorithm>

#include "tests/simulator/gpu/ptx/support/reference_parts.h"

namespace lockstep::testing {

namespace {

__extension__ typedef __int128 Wide;  // NOLINT(modernize-use-using)

Wide value_of(std::uint64_t bits, int width, bool is_signed) {
  Wide value = 0;
  for (int i = 0; i < width; ++i) value += (bits >> i & 1U) != 0 ? Wide{1} << i : Wide{0};
  if (is_signed && (bits >> (width - 1) & 1U) != 0) value -= Wide{1} << width;
  return value;
}
std::uint64_t bits_of(Wide value, int width) {
  return width == 64 ? static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value) & ((std::uint64_t{1} << width) - 1);
}

// The upper half of a signed or unsigned product of 64 bits does not fit 128 bits unsigned: by parts.
Wide high_of(Wide a, Wide b, int width, bool is_signed) {
  if (width < 64 || is_signed) return (a * b) >> width;
  const Wide low = (Wide{1} << 32) - 1;
  const Wide middle = (a >> 32) * (b & low) + (((a & low) * (b & low)) >> 32);
  const Wide other = (a & low) * (b >> 32) + (middle & low);
  return (a >> 32) * (b >> 32) + (middle >> 32) + (other >> 32);
}
Wide saturated(Wide value) { return std::clamp<Wide>(value, -(Wide{1} << 31), (Wide{1} << 31) - 1); }

std::uint64_t extract(std::uint64_t a, unsigned pos, unsigned len, unsigned msb, bool is_signed) {
  const auto bit = [&](unsigned i) { return a >> i & 1U; };
  const std::uint64_t sign = is_signed && len != 0 ? bit(std::min(pos + len - 1, msb)) : 0;
  std::uint64_t d = 0;
  for (unsigned i = 0; i <= msb; ++i) d |= (i < len && pos + i <= msb ? bit(pos + i) : sign) << i;
  return d;
}
std::uint64_t insert(std::uint64_t a, std::uint64_t b, unsigned pos, unsigned len, unsigned msb) {
  std::uint64_t d = b;
  for (unsigned i = 0; i < len && pos + i <= msb; ++i) {
    d &= ~(std::uint64_t{1} << (pos + i));
    d |= (a >> i & 1U) << (pos + i);
  }
  return d;
}

std::uint64_t permuted(std::uint64_t a, std::uint64_t b, const unsigned (&picks)[4], const bool (&signs)[4]) {
  std::uint64_t result = 0;
  for (int k = 0; k < 4; ++k) {
    const unsigned pick = picks[k] & 7U;
    std::uint64_t byte = (pick < 4 ? a >> (8 * pick) : b >> (8 * (pick - 4))) & 0xffU;
    if (signs[k]) byte = (byte & 0x80U) != 0 ? 0xff : 0;
    result |= byte << (8 * k);
  }
  return result;
}

}  // namespace

Expected integer_reference(const Parts& parts, const Operands& o) {
  Expected result;
  result.known = true;
  const std::string& op = parts[0];
  std::string type = parts.back();
  if (op == "prmt") type = "b32";
  result.type = type;
  if (type == "pred") {
    if (op == "and")
      result.bits = o[0] & o[1];
    else if (op == "or")
      result.bits = o[0] | o[1];
    else if (op == "xor")
      result.bits = o[0] ^ o[1];
    else if (op == "not")
      result.bits = o[0] ^ 1U;
    else if (op == "mov")
      result.bits = o[0];
    else
      result.known = false;
    return result;
  }
  const int width = width_of(type);
  const bool is_signed = is_signed_type(type);
  const auto v = [&](std::size_t i) { return value_of(o[i], width, is_signed); };
  const bool high = has(parts, "hi"), wide = has(parts, "wide"), sat = has(parts, "sat");
  Wide w = 0;
  if (op == "add")
    w = sat ? saturated(v(0) + v(1)) : v(0) + v(1);
  else if (op == "sub")
    w = sat ? saturated(v(0) - v(1)) : v(0) - v(1);
  else if (op == "mul" || op == "mad") {
    w = high                 ? high_of(v(0), v(1), width, is_signed)
        : wide || width < 64 ? v(0) * v(1)
                             : static_cast<Wide>(static_cast<std::uint64_t>(o[0] * o[1]));
    if (op == "mad") w += value_of(o[2], wide ? 2 * width : width, is_signed);
    if (sat) w = saturated(w);
    if (wide) {
      result.type = type.substr(0, 1) + std::to_string(2 * width);
      result.bits = bits_of(w, 2 * width);
      return result;
    }
  } else if (op == "mul24" || op == "mad24") {
    const Wide product = value_of(o[0] & 0xffffffU, 24, is_signed) * value_of(o[1] & 0xffffffU, 24, is_signed);
    w = high ? product >> 16 : product;
    if (op == "mad24") w += v(2);
  } else if (op == "div")
    w = v(1) == 0 ? Wide{-1} : v(0) / v(1);
  else if (op == "rem")
    w = v(1) == 0 ? v(0) : v(0) % v(1);
  else if (op == "min")
    w = std::min(v(0), v(1));
  else if (op == "max")
    w = std::max(v(0), v(1));
  else if (op == "abs")
    w = v(0) < 0 ? -v(0) : v(0);
  else if (op == "neg")
    w = -v(0);
  else if (op == "sad")
    w = v(2) + (v(0) < v(1) ? v(1) - v(0) : v(0) - v(1));
  else if (op == "and")
    w = static_cast<Wide>(o[0] & o[1]);
  else if (op == "or")
    w = static_cast<Wide>(o[0] | o[1]);
  else if (op == "xor")
    w = static_cast<Wide>(o[0] ^ o[1]);
  else if (op == "not")
    w = static_cast<Wide>(~o[0]);
  else if (op == "cnot")
    w = bits_of(static_cast<Wide>(o[0]), width) == 0 ? 1 : 0;
  else if (op == "mov")
    w = static_cast<Wide>(o[0]);
  else if (op == "shl")
    w = (o[1] & 0xffffffffU) >= static_cast<unsigned>(width) ? 0 : v(0) * (Wide{1} << (o[1] & 0xffffffffU));
  else if (op == "shr") {
    const std::uint64_t n = std::min<std::uint64_t>(o[1] & 0xffffffffU, static_cast<std::uint64_t>(width));
    w = v(0) >> n;
  } else if (op == "shf") {
    const std::uint64_t n = has(parts, "wrap") ? o[2] % 32 : std::min<std::uint64_t>(o[2] & 0xffffffffU, 32);
    const Wide both = (static_cast<Wide>(o[1] & 0xffffffffU) << 32) + static_cast<Wide>(o[0] & 0xffffffffU);
    w = has(parts, "l") ? (both << n) >> 32 : both >> n;
  } else if (op == "popc" || op == "clz") {
    int ones = 0, zeros = 0;
    for (int i = 0; i < width; ++i) ones += static_cast<int>(o[0] >> i & 1U);
    for (int i = width - 1; i >= 0 && (o[0] >> i & 1U) == 0; --i) ++zeros;
    result.type = "u32";
    result.bits = static_cast<std::uint64_t>(op == "popc" ? ones : zeros);
    return result;
  } else if (op == "brev") {
    for (int i = 0; i < width; ++i) w += (o[0] >> i & 1U) != 0 ? Wide{1} << (width - 1 - i) : 0;
  } else if (op == "bfind") {
    const std::uint64_t a = is_signed && (o[0] >> (width - 1) & 1U) != 0 ? ~o[0] : o[0];
    result.type = "u32";
    result.bits = 0xffffffffU;
    for (int i = 0; i < width; ++i) {
      if ((a >> i & 1U) != 0) result.bits = static_cast<std::uint64_t>(has(parts, "shiftamt") ? width - 1 - i : i);
    }
    return result;
  } else if (op == "bfe")
    w = static_cast<Wide>(extract(o[0], o[1] & 0xffU, o[2] & 0xffU, static_cast<unsigned>(width - 1), is_signed));
  else if (op == "bfi")
    w = static_cast<Wide>(insert(o[0], o[1], o[2] & 0xffU, o[3] & 0xffU, static_cast<unsigned>(width - 1)));
  else if (op == "bmsk") {
    const bool wrap = has(parts, "wrap");
    const std::uint64_t a = wrap ? o[0] % 32 : o[0] & 0xffffffffU, b = wrap ? o[1] % 32 : o[1] & 0xffffffffU;
    for (std::uint64_t i = 0; i < 32; ++i) w += i >= a && i - a < b ? Wide{1} << i : 0;
  } else if (op == "szext") {
    const std::uint64_t n = has(parts, "wrap") ? o[1] % 32 : std::min<std::uint64_t>(o[1] & 0xffffffffU, 32);
    w = n == 0 ? 0 : value_of(o[0], static_cast<int>(n), is_signed);
  } else if (op == "fns") {
    const auto mask = static_cast<std::uint32_t>(o[0]);
    const auto base = static_cast<std::int64_t>(o[1] & 0xffffffffU);
    const Wide offset = value_of(o[2], 32, true);
    result.bits = 0xffffffffU;
    Wide count = offset < 0 ? -offset : offset;
    for (std::int64_t i = base; i >= 0 && i < 32; i += offset < 0 ? -1 : 1) {
      if (offset == 0) {
        if ((mask >> i & 1U) != 0) result.bits = static_cast<std::uint64_t>(i);
        break;
      }
      if ((mask >> i & 1U) != 0 && --count == 0) {
        result.bits = static_cast<std::uint64_t>(i);
        break;
      }
    }
    return result;
  } else if (op == "lop3") {
    for (int i = 0; i < 32; ++i) {
      const unsigned row = static_cast<unsigned>((o[0] >> i & 1U) << 2 | (o[1] >> i & 1U) << 1 | (o[2] >> i & 1U));
      w += (o[3] >> row & 1U) != 0 ? Wide{1} << i : 0;
    }
  } else if (op == "prmt") {
    const std::string mode = parts.size() == 3 ? parts[2] : "";
    const auto c = static_cast<unsigned>(o[2]);
    const unsigned s = c & 3U;
    unsigned picks[4] = {};
    bool signs[4] = {};
    for (unsigned k = 0; k < 4; ++k) {
      if (mode.empty()) {
        picks[k] = c >> (4 * k) & 7U;
        signs[k] = (c >> (4 * k) & 8U) != 0;
      } else if (mode == "f4e")
        picks[k] = s + k;
      else if (mode == "b4e")
        picks[k] = (s + 8 - k) % 8;
      else if (mode == "rc8")
        picks[k] = s;
      else if (mode == "ecl")
        picks[k] = std::max(k, s);
      else if (mode == "ecr")
        picks[k] = std::min(k, s);
      else
        picks[k] = (s & 1U) * 2 + k % 2;
    }
    w = static_cast<Wide>(permuted(o[0], o[1], picks, signs));
  } else if (op == "dp4a" || op == "dp2a") {
    const bool a_signed = parts[parts.size() - 2] == "s32", b_signed = type == "s32";
    const int terms = op == "dp4a" ? 4 : 2, a_width = op == "dp4a" ? 8 : 16;
    w = value_of(o[2], 32, a_signed || b_signed);
    for (int k = 0; k < terms; ++k) {
      w += value_of(o[0] >> (a_width * k), a_width, a_signed) * value_of(o[1] >> (8 * (k + (high ? 2 : 0))), 8, b_signed);
    }
  } else {
    result.known = false;
  }
  if (has(parts, "relu")) w = std::max<Wide>(w, 0);
  result.bits = bits_of(w, width);
  return result;
}

}  // namespace lockstep::testing
