// Conversions between all types. One function does any of them, lane by lane; those that programs use most have a loop of their own.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "simulator/gpu/ptx/conversion_types.h"
#include "simulator/gpu/ptx/float_rules.h"
#include "simulator/gpu/ptx/lanewise.h"
#include "simulator/gpu/ptx/narrowing.h"
#include "simulator/gpu/ptx/operation_sets.h"

namespace lockstep::ptx {

namespace {

__extension__ typedef __int128 Whole;  // holds every integer of 64 bits, signed or not

struct Conversion {
  Type to = Type::b32, from = Type::b32;
  int to_bytes = 4, from_bytes = 4;  // of the registers
  Round round = Round::nearest;
  bool whole = false;  // .rni: to a whole number
  bool flush = false, clamp = false, relu = false;

  std::uint32_t packed() const {
    return static_cast<std::uint32_t>(to) | static_cast<std::uint32_t>(from) << 5 | static_cast<std::uint32_t>(to_bytes) << 10 |
           static_cast<std::uint32_t>(from_bytes) << 14 | static_cast<std::uint32_t>(round) << 18 |
           static_cast<std::uint32_t>(whole) << 20 | static_cast<std::uint32_t>(flush) << 21 | static_cast<std::uint32_t>(clamp) << 22 |
           static_cast<std::uint32_t>(relu) << 23;
  }
  static Conversion unpacked(std::uint32_t bits) {
    return {static_cast<Type>(bits & 31U),
            static_cast<Type>(bits >> 5 & 31U),
            static_cast<int>(bits >> 10 & 15U),
            static_cast<int>(bits >> 14 & 15U),
            static_cast<Round>(bits >> 18 & 3U),
            (bits >> 20 & 1U) != 0,
            (bits >> 21 & 1U) != 0,
            (bits >> 22 & 1U) != 0,
            (bits >> 23 & 1U) != 0};
  }
};

bool is_signed(Type type) { return type == Type::s8 || type == Type::s16 || type == Type::s32 || type == Type::s64; }
Whole lowest(Type type) { return is_signed(type) ? -(Whole{1} << (8 * bytes_of(type) - 1)) : Whole{0}; }
Whole highest(Type type) { return (Whole{1} << (8 * bytes_of(type) - (is_signed(type) ? 1 : 0))) - 1; }

Whole integer_of(std::uint64_t bits, Type type) {
  const int unused = 64 - 8 * bytes_of(type);
  if (is_signed(type)) return static_cast<std::int64_t>(bits << unused) >> unused;
  return static_cast<std::uint64_t>(bits << unused) >> unused;
}
double real_of(std::uint64_t bits, Type type) {
  switch (type) {
    case Type::f16:
      return static_cast<double>(widen(Half{static_cast<std::uint16_t>(bits)}));
    case Type::bf16:
      return static_cast<double>(widen(Bfloat{static_cast<std::uint16_t>(bits)}));
    case Type::f32:
      return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    default:
      return std::bit_cast<double>(bits);
  }
}

double to_whole(double value, Round round) {
  switch (round) {
    case Round::nearest:
      return std::nearbyint(value);
    case Round::zero:
      return std::trunc(value);
    case Round::down:
      return std::floor(value);
    default:
      return std::ceil(value);
  }
}

// An integer as a double, rounded; or with what does not fit kept as an odd last bit.
template <typename T, typename A>
T rounded_to(A value, Round round) {
  const Rounding rounding(round);
  if constexpr (std::is_integral_v<A>)
    asm volatile("" : "+r"(value));
  else
    value = pinned(value);
  return pinned(static_cast<T>(value));
}
template <typename T>
T rounded_integer(Whole value, Round round) {
  return value >= 0 ? rounded_to<T>(static_cast<std::uint64_t>(value), round) : rounded_to<T>(static_cast<std::int64_t>(value), round);
}
double to_odd_double(Whole value) {
  const auto cut = rounded_integer<double>(value, Round::zero);
  return static_cast<Whole>(cut) == value ? cut : std::bit_cast<double>(std::bit_cast<std::uint64_t>(cut) | 1U);
}

// Past the ends the result is the end. What is no number is 0, or the top bit where 64 bits are read or written.
std::uint64_t to_integer(double value, const Conversion& how) {
  if (value != value) {
    const bool top = how.from == Type::f64 || bytes_of(how.to) == 8;
    return top ? std::uint64_t{1} << (8 * bytes_of(how.to) - 1) : 0;
  }
  const double whole = to_whole(value, how.round);
  if (whole < static_cast<double>(lowest(how.to))) return static_cast<std::uint64_t>(lowest(how.to));
  if (whole >= static_cast<double>(highest(how.to) + 1)) return static_cast<std::uint64_t>(highest(how.to));
  return static_cast<std::uint64_t>(static_cast<Whole>(whole));
}

double limited(double value, const Conversion& how) {
  if (how.clamp) return value > 0 ? (value < 1 ? value : 1.0) : 0.0;
  if (how.relu && value == value) return value > 0 ? value : 0.0;
  return value;
}

std::uint64_t real_bits(double value, const Conversion& how) {
  switch (how.to) {
    case Type::f16:
      return to_half(static_cast<float>(limited(widen(narrowed<Half>(value, how.round)), how))).bits;
    case Type::bf16:
      return to_bfloat(static_cast<float>(limited(widen(narrowed<Bfloat>(value, how.round)), how))).bits;
    case Type::f32: {
      const float narrow = one_nan(rounded_to<float>(value, how.round));
      const float kept = how.flush ? flushed<true>(narrow) : narrow;
      return std::bit_cast<std::uint32_t>(how.clamp ? clamped_to_one(kept) : kept);
    }
    default:
      return std::bit_cast<std::uint64_t>(limited(value, how));
  }
}

std::uint64_t converted(std::uint64_t bits, const Conversion& how) {
  if (!is_floating(how.from)) {
    const Whole value = integer_of(bits, how.from);
    if (!is_floating(how.to)) return static_cast<std::uint64_t>(how.clamp ? std::clamp(value, lowest(how.to), highest(how.to)) : value);
    if (how.to == Type::f64) return std::bit_cast<std::uint64_t>(rounded_integer<double>(value, how.round));
    if (how.to == Type::f32) return std::bit_cast<std::uint32_t>(rounded_integer<float>(value, how.round));
    return real_bits(to_odd_double(value), how);
  }
  double value = real_of(bits, how.from);
  if (how.flush && how.from == Type::f32) value = static_cast<double>(flushed<true>(static_cast<float>(value)));
  if (!is_floating(how.to)) return to_integer(value, how);
  return real_bits(how.whole ? to_whole(value, how.round) : value, how);
}

// A narrow integer fills its register: with its sign, or with zeros.
std::uint64_t filled(std::uint64_t bits, const Conversion& how) {
  return is_floating(how.to) ? bits : static_cast<std::uint64_t>(integer_of(bits, how.to));
}

void convert(Warp& warp, const Instruction& instruction, Mask mask) {
  const Conversion how = Conversion::unpacked(instruction.operation->detail);
  const auto to_bytes = static_cast<std::size_t>(how.to_bytes), from_bytes = static_cast<std::size_t>(how.from_bytes);
  for (Mask left = mask; left != 0; left &= left - 1) {
    const auto lane = static_cast<std::size_t>(std::countr_zero(left));
    std::uint64_t bits = 0;
    std::memcpy(&bits, warp.registers + instruction.slots[1] + lane * from_bytes, from_bytes);
    bits = filled(converted(bits, how), how);
    std::memcpy(warp.registers + instruction.slots[0] + lane * to_bytes, &bits, to_bytes);
  }
}

// Those that programs use most. They give the same bits as `convert`; tests look at every one.
template <typename D, typename A>
D plain(A value) {
  return static_cast<D>(value);
}
float narrow_double(double value) { return one_nan(static_cast<float>(value)); }
float widen_half(Half value) { return one_nan(widen(value)); }
float widen_bfloat(Bfloat value) { return one_nan(widen(value)); }
Half to_nearest_half(float value) { return to_half(value); }
Bfloat to_nearest_bfloat(float value) { return to_bfloat(value); }
float saturate(float value) { return clamped_to_one(value); }
template <typename D>
D truncate(float value) {
  if (value != value) return sizeof(D) == 8 ? std::numeric_limits<D>::min() : D{0};
  if (value < static_cast<float>(std::numeric_limits<D>::min())) return std::numeric_limits<D>::min();
  if (value >= static_cast<float>(std::numeric_limits<D>::max())) return std::numeric_limits<D>::max();
  return static_cast<D>(value);
}

template <typename A>
void add_common_from(Table& table, const std::string& from) {
  const std::string width = "/" + std::to_string(sizeof(A));
  add_lanewise<plain<std::int32_t, A>>(table, "cvt.s32." + from + "/4" + width, Kind::conversion);
  add_lanewise<plain<std::uint32_t, A>>(table, "cvt.u32." + from + "/4" + width, Kind::conversion);
  add_lanewise<plain<std::int64_t, A>>(table, "cvt.s64." + from + "/8" + width, Kind::conversion);
  add_lanewise<plain<std::uint64_t, A>>(table, "cvt.u64." + from + "/8" + width, Kind::conversion);
  add_lanewise<plain<float, A>>(table, "cvt.rn.f32." + from + "/4" + width, Kind::conversion);
  add_lanewise<plain<double, A>>(table, "cvt.rn.f64." + from + "/8" + width, Kind::conversion);
}

void add_common(Table& table) {
  add_common_from<std::int32_t>(table, "s32");
  add_common_from<std::uint32_t>(table, "u32");
  add_common_from<std::int64_t>(table, "s64");
  add_common_from<std::uint64_t>(table, "u64");
  add_lanewise<plain<double, float>>(table, "cvt.f64.f32/8/4", Kind::conversion);
  add_lanewise<narrow_double>(table, "cvt.rn.f32.f64/4/8", Kind::conversion);
  add_lanewise<widen_half>(table, "cvt.f32.f16/4/2", Kind::conversion);
  add_lanewise<widen_bfloat>(table, "cvt.f32.bf16/4/2", Kind::conversion);
  add_lanewise<to_nearest_half>(table, "cvt.rn.f16.f32/2/4", Kind::conversion);
  add_lanewise<to_nearest_bfloat>(table, "cvt.rn.bf16.f32/2/4", Kind::conversion);
  add_lanewise<saturate>(table, "cvt.sat.f32.f32/4/4", Kind::conversion);
  add_lanewise<truncate<std::int32_t>>(table, "cvt.rzi.s32.f32/4/4", Kind::conversion);
}

constexpr std::pair<Round, const char*> kRounds[] = {
    {Round::nearest, ".rn"}, {Round::zero, ".rz"}, {Round::down, ".rm"}, {Round::up, ".rp"}};
constexpr Type kIntegers[] = {Type::u8, Type::s8, Type::u16, Type::s16, Type::u32, Type::s32, Type::u64, Type::s64};
constexpr Type kReals[] = {Type::f16, Type::bf16, Type::f32, Type::f64};

// Under every name it can have: with the modifiers in PTX' order, unless a loop of its own has the name already.
void add_conversion(Table& table, Conversion how, const std::string& rounding) {
  Operation operation;
  operation.name = "cvt" + rounding + (how.flush ? ".ftz" : "") + (how.clamp ? ".sat" : "") + (how.relu ? ".relu" : "") + "." +
                   std::string(name_of(how.to)) + "." + std::string(name_of(how.from)) + "/" + std::to_string(how.to_bytes) + "/" +
                   std::to_string(how.from_bytes);
  if (table.find(operation.name) != nullptr) return;
  operation.kind = Kind::conversion;
  operation.execute = &convert;
  operation.detail = how.packed();
  operation.parameters.resize(2);
  operation.parameters[0].role = Parameter::Role::write;
  operation.parameters[0].bytes = how.to_bytes;
  operation.parameters[1].bytes = how.from_bytes;
  operation.parameters[1].floating = how.from == Type::f32 || how.from == Type::f64;
  table.add(std::move(operation));
}

// An integer's register may be wider than the integer.
template <typename Use>
void each_width(Type type, Use use) {
  for (const int bytes : {2, 4, 8}) {
    if (is_floating(type) ? bytes == bytes_of(type) : bytes >= bytes_of(type)) use(bytes);
  }
}

void add_widths(Table& table, Conversion how, const std::string& rounding) {
  each_width(how.to, [&](int to) {
    each_width(how.from, [&](int from) {
      how.to_bytes = to;
      how.from_bytes = from;
      add_conversion(table, how, rounding);
    });
  });
}

void add_integers(Table& table, Type to) {
  for (const Type from : kIntegers) {
    for (const bool clamp : {false, true}) {
      Conversion how;
      how.to = to;
      how.from = from;
      how.clamp = clamp;
      add_widths(table, how, "");
    }
  }
  for (const auto& [round, name] : kRounds) {
    for (const Type real : kReals) {
      Conversion how;
      how.round = round;
      how.to = real;
      how.from = to;
      add_widths(table, how, name);
      std::swap(how.to, how.from);
      for (const bool clamp : {false, true}) {
        how.clamp = clamp;
        how.flush = false;
        add_widths(table, how, std::string(name) + "i");
        how.flush = true;
        if (real == Type::f32) add_widths(table, how, std::string(name) + "i");
      }
    }
  }
}

// Between floats: to a wider one there is nothing to round, to a narrower one a rounding must be named, and within a type to a whole
// number.
void add_reals(Table& table, Type to, Type from) {
  Conversion how;
  how.to = to;
  how.from = from;
  const bool narrows = bytes_of(to) < bytes_of(from);
  if (to != from && bytes_of(to) == bytes_of(from)) return;  // f16 and bf16 go by f32
  const bool may_flush = to == Type::f32 || from == Type::f32;
  for (const bool flush : {false, true}) {
    if (flush && (!may_flush || to == Type::bf16 || from == Type::bf16)) continue;
    how.flush = flush;
    for (const bool clamp : {false, true}) {
      how.clamp = clamp;
      how.round = Round::nearest;
      how.whole = false;
      if (!narrows && (to != Type::f16 && to != Type::bf16)) add_widths(table, how, "");
      for (const auto& [round, name] : kRounds) {
        how.round = round;
        if (narrows) add_widths(table, how, name);
        how.whole = true;
        if (to == from) add_widths(table, how, std::string(name) + "i");
        how.whole = false;
        if (!narrows || from != Type::f32 || clamp || (round != Round::nearest && round != Round::zero)) continue;
        how.relu = true;
        add_widths(table, how, name);
        how.relu = false;
      }
    }
  }
}

float relu(float value) { return value != value ? value : (value > 0 ? value : 0.0F); }
template <typename T, Round kRound, bool kRelu>
Pair<T> pair_of(float high, float low) {
  Pair<T> pair{narrowed<T>(static_cast<double>(low), kRound), narrowed<T>(static_cast<double>(high), kRound)};
  if constexpr (kRelu) pair = {narrowed<T>(relu(widen(pair.low))), narrowed<T>(relu(widen(pair.high)))};
  return pair;
}
template <typename T>
void add_pairs(Table& table, const std::string& type) {
  add_lanewise<pair_of<T, Round::nearest, false>>(table, "cvt.rn." + type + ".f32/4/4", Kind::conversion);
  add_lanewise<pair_of<T, Round::nearest, true>>(table, "cvt.rn.relu." + type + ".f32/4/4", Kind::conversion);
  add_lanewise<pair_of<T, Round::zero, false>>(table, "cvt.rz." + type + ".f32/4/4", Kind::conversion);
  add_lanewise<pair_of<T, Round::zero, true>>(table, "cvt.rz.relu." + type + ".f32/4/4", Kind::conversion);
}

// 10 bits of mantissa, ties away from zero.
std::uint32_t to_tf32(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7f800000U) == 0x7f800000U) return value != value ? 0x7fffffffU : bits;
  return (bits + 0x1000U) & ~0x1fffU;
}

}  // namespace

void add_conversions(Table& table) {
  add_common(table);
  for (const Type integer : kIntegers) add_integers(table, integer);
  for (const Type to : kReals) {
    for (const Type from : kReals) add_reals(table, to, from);
  }
  add_pairs<Half>(table, "f16x2");
  add_pairs<Bfloat>(table, "bf16x2");
  add_lanewise<to_tf32>(table, "cvt.rna.tf32.f32/4/4", Kind::conversion);
}

}  // namespace lockstep::ptx
