// Operations that do the same on every lane: a plain function of values becomes an operation on 32 of them, in a loop that the host's
// compiler turns into vector instructions.
//
// `bool` stands for a predicate, 32 of which are a word.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "simulator/gpu/ptx/half.h"
#include "simulator/gpu/ptx/instruction.h"
#include "simulator/gpu/ptx/warp.h"

namespace lockstep::ptx {

template <typename T>
struct SourceLanes {
  const T* values;
  SourceLanes(Warp& warp, std::uint32_t slot) : values(reinterpret_cast<const T*>(warp.registers + slot)) {}
  T operator[](int lane) const { return values[lane]; }
};
template <>
struct SourceLanes<bool> {
  Mask bits;
  SourceLanes(Warp& warp, std::uint32_t slot) : bits(*reinterpret_cast<const Mask*>(warp.registers + slot)) {}
  bool operator[](int lane) const { return (bits >> lane & 1U) != 0; }
};

// p ? a : b, in a way that the compiler makes no branch of, so that it can do many at once.
template <typename T>
T chosen(T a, T b, bool p) {
  using Bits = std::conditional_t<
      sizeof(T) == 8, std::uint64_t,
      std::conditional_t<sizeof(T) == 4, std::uint32_t, std::conditional_t<sizeof(T) == 2, std::uint16_t, std::uint8_t>>>;
  const Bits x = std::bit_cast<Bits>(a), y = std::bit_cast<Bits>(b), all = static_cast<Bits>(Bits{0} - static_cast<Bits>(p));
  return std::bit_cast<T>(static_cast<Bits>(y ^ ((x ^ y) & all)));
}

// From this many lanes on a vector of all lanes costs less than a lane at a time.
inline constexpr int kWorthAllLanes = 6;

template <auto Function>
struct Lanewise;

template <typename D, typename... S, D (*Function)(S...)>
struct Lanewise<Function> {
  static void run(Warp& warp, const Instruction& instruction, Mask mask) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      lanes(warp, instruction.slots[0], mask, SourceLanes<S>(warp, instruction.slots[I + 1])...);
    }
    (std::index_sequence_for<S...>{});
  }

  static Parameter parameter(Parameter::Role role, std::size_t bytes, bool floating) {
    Parameter made;
    made.role = role;
    made.bytes = static_cast<int>(bytes);
    made.floating = floating;
    return made;
  }
  static std::vector<Parameter> parameters() { return {of<D>(Parameter::Role::write), of<S>(Parameter::Role::read)...}; }

 private:
  template <typename T>
  static Parameter of(Parameter::Role role) {
    return parameter(role, std::is_same_v<T, bool> ? 0 : sizeof(T), std::is_floating_point_v<T>);
  }

  static void lanes(Warp& warp, std::uint32_t slot, Mask mask, SourceLanes<S>... sources) {
    if constexpr (std::is_same_v<D, bool>) {
      Mask bits = 0;
      if (mask == kAllLanes) {
        for (int i = 0; i < kLanes; ++i) bits |= static_cast<Mask>(Function(sources[i]...)) << i;
      } else {
        for (Mask left = mask; left != 0; left &= left - 1) {
          const int i = std::countr_zero(left);
          bits |= static_cast<Mask>(Function(sources[i]...)) << i;
        }
      }
      Mask& result = *reinterpret_cast<Mask*>(warp.registers + slot);
      result = (result & ~mask) | bits;
    } else {
      D* result = reinterpret_cast<D*>(warp.registers + slot);
      if (mask == kAllLanes) {
#pragma GCC ivdep
        for (int i = 0; i < kLanes; ++i) result[i] = Function(sources[i]...);
      } else if (std::popcount(mask) >= kWorthAllLanes) {  // functions are defined for all values, so those of other lanes do no harm
        D values[kLanes];
#pragma GCC ivdep
        for (int i = 0; i < kLanes; ++i) values[i] = Function(sources[i]...);
        for (int i = 0; i < kLanes; ++i) result[i] = chosen(values[i], result[i], (mask >> i & 1U) != 0);
      } else {
        for (Mask left = mask; left != 0; left &= left - 1) {
          const int i = std::countr_zero(left);
          result[i] = Function(sources[i]...);
        }
      }
    }
  }
};

template <auto Function>
void add_lanewise(Table& table, std::string name, Kind kind) {
  Operation operation;
  operation.name = std::move(name);
  operation.kind = kind;
  operation.execute = &Lanewise<Function>::run;
  operation.parameters = Lanewise<Function>::parameters();
  table.add(std::move(operation));
}

}  // namespace lockstep::ptx
