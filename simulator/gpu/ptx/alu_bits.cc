// Logic, shifts, fields of bits and permutations of bytes.
#include <bit>
#include <type_traits>

#include "simulator/gpu/ptx/lanewise.h"
#include "simulator/gpu/ptx/operation_sets.h"

namespace lockstep::ptx {

namespace {

template <typename T>
T bits_and(T a, T b) {
  return static_cast<T>(a & b);
}
template <typename T>
T bits_or(T a, T b) {
  return static_cast<T>(a | b);
}
template <typename T>
T bits_xor(T a, T b) {
  return static_cast<T>(a ^ b);
}
template <typename T>
T bits_not(T a) {
  return static_cast<T>(~a);
}
bool predicate_and(bool a, bool b) { return a && b; }
bool predicate_or(bool a, bool b) { return a || b; }
bool predicate_xor(bool a, bool b) { return a != b; }
bool predicate_not(bool a) { return !a; }
template <typename T>
T logical_not(T a) {
  return a == 0 ? T{1} : T{0};
}

// Past the width nothing is left, or the sign.
template <typename T>
T shift_left(T a, std::uint32_t b) {
  return b >= 8 * sizeof(T) ? T{0} : static_cast<T>(a << b);
}
template <typename T>
T shift_right(T a, std::uint32_t b) {
  constexpr std::uint32_t kMost = 8 * sizeof(T) - 1;
  if constexpr (std::is_signed_v<T>) return static_cast<T>(a >> (b > kMost ? kMost : b));
  return b > kMost ? T{0} : static_cast<T>(a >> b);
}
template <bool kLeft, bool kWrap>
std::uint32_t funnel(std::uint32_t low, std::uint32_t high, std::uint32_t c) {
  const std::uint32_t n = kWrap ? c & 31U : (c > 32 ? 32 : c);
  const std::uint64_t both = static_cast<std::uint64_t>(high) << 32 | low;
  return kLeft ? static_cast<std::uint32_t>((both << n) >> 32) : static_cast<std::uint32_t>(both >> n);
}

template <typename T>
std::uint32_t count_ones(T a) {
  return static_cast<std::uint32_t>(std::popcount(a));
}
template <typename T>
std::uint32_t leading_zeros(T a) {
  return static_cast<std::uint32_t>(std::countl_zero(a));
}
template <typename T>
T reversed(T a) {
  T result = 0;
  for (unsigned i = 0; i < 8 * sizeof(T); ++i) result |= (a >> i & T{1}) << (8 * sizeof(T) - 1 - i);
  return result;
}
// The highest bit that is not the sign; all ones where there is none. By `shift`: how far it is from the top.
template <typename T, bool kShift>
std::uint32_t find_highest(T a) {
  using U = std::make_unsigned_t<T>;
  const U bits = a < 0 ? static_cast<U>(~a) : static_cast<U>(a);
  if (bits == 0) return ~0U;
  const auto zeros = static_cast<std::uint32_t>(std::countl_zero(bits));
  return kShift ? zeros : static_cast<std::uint32_t>(8 * sizeof(T) - 1) - zeros;
}

template <typename T>
T extract(T a, std::uint32_t position, std::uint32_t length) {
  using U = std::make_unsigned_t<T>;
  constexpr std::uint32_t kTop = 8 * sizeof(T) - 1;
  const std::uint32_t pos = position & 0xffU, len = length & 0xffU;
  const auto bits = static_cast<U>(a);
  U sign = 0;
  if (std::is_signed_v<T> && len != 0) {
    const std::uint32_t last = pos + len - 1 > kTop ? kTop : pos + len - 1;
    sign = bits >> last & 1U;
  }
  U result = pos > kTop ? 0 : bits >> pos;
  if (len > kTop) {
    if (sign != 0 && pos != 0) result |= pos > kTop ? ~U{0} : static_cast<U>(~U{0} << (kTop + 1 - pos));
    return static_cast<T>(result);
  }
  result &= (U{1} << len) - 1;
  const std::uint32_t there = pos > kTop ? 0 : (len > kTop + 1 - pos ? kTop + 1 - pos : len);
  if (sign != 0) result |= there > kTop ? 0 : static_cast<U>(~U{0} << there);
  return static_cast<T>(result);
}
template <typename T>
T insert(T a, T b, std::uint32_t position, std::uint32_t length) {
  constexpr std::uint32_t kWidth = 8 * sizeof(T);
  const std::uint32_t pos = position & 0xffU, len = length & 0xffU;
  if (pos >= kWidth || len == 0) return b;
  const T field = (len >= kWidth ? ~T{0} : (T{1} << len) - 1) << pos;
  return (b & ~field) | (a << pos & field);
}
template <bool kWrap>
std::uint32_t bit_mask(std::uint32_t position, std::uint32_t length) {
  const std::uint32_t a = kWrap ? position & 31U : position, b = kWrap ? length & 31U : length;
  if (a >= 32 || b == 0) return 0;
  const std::uint32_t ones = b >= 32 ? ~0U : (1U << b) - 1;
  return ones << a;
}
template <typename T, bool kWrap>
T sign_extended(T a, std::uint32_t width) {
  const std::uint32_t n = kWrap ? width & 31U : width;
  if (n >= 32) return a;
  if (n == 0) return 0;
  if constexpr (std::is_signed_v<T>) return static_cast<T>(static_cast<std::uint32_t>(a) << (32 - n)) >> (32 - n);
  return a & ((1U << n) - 1);
}

// The place of the n-th one from `base` upwards (n above 0) or downwards.
std::uint32_t find_nth_set(std::uint32_t mask, std::uint32_t base, std::int32_t offset) {
  if (offset == 0) return (base < 32 && (mask >> base & 1U) != 0) ? base : ~0U;
  const std::int64_t step = offset > 0 ? 1 : -1;
  std::int64_t left = offset > 0 ? offset : -static_cast<std::int64_t>(offset);
  for (std::int64_t i = base; i >= 0 && i < 32; i += step) {
    if ((mask >> i & 1U) != 0 && --left == 0) return static_cast<std::uint32_t>(i);
  }
  return ~0U;
}

std::uint32_t logic3(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t table) {
  std::uint32_t result = 0;
  for (unsigned k = 0; k < 8; ++k) {
    const std::uint32_t here = ((k & 4U) != 0 ? a : ~a) & ((k & 2U) != 0 ? b : ~b) & ((k & 1U) != 0 ? c : ~c);
    result |= here & (0U - (table >> k & 1U));
  }
  return result;
}

std::uint32_t byte_at(std::uint64_t both, std::uint32_t selector) {
  const auto byte = static_cast<std::uint32_t>(both >> (8 * (selector & 7U)) & 0xffU);
  return (selector & 8U) != 0 ? ((byte & 0x80U) != 0 ? 0xffU : 0U) : byte;
}
std::uint32_t permute(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  const std::uint64_t both = static_cast<std::uint64_t>(b) << 32 | a;
  std::uint32_t result = 0;
  for (unsigned k = 0; k < 4; ++k) result |= byte_at(both, c >> (4 * k)) << (8 * k);
  return result;
}
enum class Permute { f4e, b4e, rc8, ecl, ecr, rc16 };
template <Permute kMode>
std::uint32_t permute_by_mode(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  constexpr std::uint32_t kSelectors[6][4] = {{0x3210, 0x4321, 0x5432, 0x6543}, {0x5670, 0x6701, 0x7012, 0x0123},
                                              {0x0000, 0x1111, 0x2222, 0x3333}, {0x3210, 0x3211, 0x3222, 0x3333},
                                              {0x0000, 0x1110, 0x2210, 0x3210}, {0x1010, 0x3232, 0x1010, 0x3232}};
  return permute(a, b, kSelectors[static_cast<int>(kMode)][c & 3U]);
}

template <typename T>
void add_logic(Table& table, const std::string& width) {
  add_lanewise<bits_and<T>>(table, "and.b" + width, Kind::integer);
  add_lanewise<bits_or<T>>(table, "or.b" + width, Kind::integer);
  add_lanewise<bits_xor<T>>(table, "xor.b" + width, Kind::integer);
  add_lanewise<bits_not<T>>(table, "not.b" + width, Kind::integer);
  add_lanewise<logical_not<T>>(table, "cnot.b" + width, Kind::integer);
  add_lanewise<shift_left<T>>(table, "shl.b" + width, Kind::integer);
  add_lanewise<shift_right<T>>(table, "shr.b" + width, Kind::integer);
  add_lanewise<shift_right<T>>(table, "shr.u" + width, Kind::integer);
  add_lanewise<shift_right<std::make_signed_t<T>>>(table, "shr.s" + width, Kind::integer);
}

template <typename T>
void add_fields(Table& table, const std::string& width) {
  using S = std::make_signed_t<T>;
  add_lanewise<count_ones<T>>(table, "popc.b" + width, Kind::integer);
  add_lanewise<leading_zeros<T>>(table, "clz.b" + width, Kind::integer);
  add_lanewise<reversed<T>>(table, "brev.b" + width, Kind::integer);
  add_lanewise<find_highest<T, false>>(table, "bfind.u" + width, Kind::integer);
  add_lanewise<find_highest<S, false>>(table, "bfind.s" + width, Kind::integer);
  add_lanewise<find_highest<T, true>>(table, "bfind.shiftamt.u" + width, Kind::integer);
  add_lanewise<find_highest<S, true>>(table, "bfind.shiftamt.s" + width, Kind::integer);
  add_lanewise<extract<T>>(table, "bfe.u" + width, Kind::integer);
  add_lanewise<extract<S>>(table, "bfe.s" + width, Kind::integer);
  add_lanewise<insert<T>>(table, "bfi.b" + width, Kind::integer);
}

}  // namespace

void add_bit_operations(Table& table) {
  add_lanewise<predicate_and>(table, "and.pred", Kind::integer);
  add_lanewise<predicate_or>(table, "or.pred", Kind::integer);
  add_lanewise<predicate_xor>(table, "xor.pred", Kind::integer);
  add_lanewise<predicate_not>(table, "not.pred", Kind::integer);
  add_logic<std::uint16_t>(table, "16");
  add_logic<std::uint32_t>(table, "32");
  add_logic<std::uint64_t>(table, "64");
  add_fields<std::uint32_t>(table, "32");
  add_fields<std::uint64_t>(table, "64");
  add_lanewise<funnel<true, true>>(table, "shf.l.wrap.b32", Kind::integer);
  add_lanewise<funnel<true, false>>(table, "shf.l.clamp.b32", Kind::integer);
  add_lanewise<funnel<false, true>>(table, "shf.r.wrap.b32", Kind::integer);
  add_lanewise<funnel<false, false>>(table, "shf.r.clamp.b32", Kind::integer);
  add_lanewise<bit_mask<false>>(table, "bmsk.clamp.b32", Kind::integer);
  add_lanewise<bit_mask<true>>(table, "bmsk.wrap.b32", Kind::integer);
  add_lanewise<sign_extended<std::uint32_t, false>>(table, "szext.clamp.u32", Kind::integer);
  add_lanewise<sign_extended<std::int32_t, false>>(table, "szext.clamp.s32", Kind::integer);
  add_lanewise<sign_extended<std::uint32_t, true>>(table, "szext.wrap.u32", Kind::integer);
  add_lanewise<sign_extended<std::int32_t, true>>(table, "szext.wrap.s32", Kind::integer);
  add_lanewise<find_nth_set>(table, "fns.b32", Kind::integer);
  add_lanewise<logic3>(table, "lop3.b32", Kind::integer);
  add_lanewise<permute>(table, "prmt.b32", Kind::integer);
  add_lanewise<permute_by_mode<Permute::f4e>>(table, "prmt.b32.f4e", Kind::integer);
  add_lanewise<permute_by_mode<Permute::b4e>>(table, "prmt.b32.b4e", Kind::integer);
  add_lanewise<permute_by_mode<Permute::rc8>>(table, "prmt.b32.rc8", Kind::integer);
  add_lanewise<permute_by_mode<Permute::ecl>>(table, "prmt.b32.ecl", Kind::integer);
  add_lanewise<permute_by_mode<Permute::ecr>>(table, "prmt.b32.ecr", Kind::integer);
  add_lanewise<permute_by_mode<Permute::rc16>>(table, "prmt.b32.rc16", Kind::integer);
}

}  // namespace lockstep::ptx
