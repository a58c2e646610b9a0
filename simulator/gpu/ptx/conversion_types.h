// Integers as cvt, ld and st know them: a type, and a register that may be wider.
#pragma once

#include <cstdint>
#include <string>

#include "simulator/gpu/ptx/instruction.h"

namespace lockstep::ptx {

// `use.template operator()<T, Register>("s8")` for registers of 2, 4 and 8 bytes that are wide enough for T.
template <typename T, typename Use>
void each_register(const std::string& type, Use use) {
  if constexpr (sizeof(T) <= 2) use.template operator()<T, std::uint16_t>(type);
  if constexpr (sizeof(T) <= 4) use.template operator()<T, std::uint32_t>(type);
  use.template operator()<T, std::uint64_t>(type);
}
template <typename Use>
void each_integer(Use use) {
  each_register<std::uint8_t>("u8", use);
  each_register<std::int8_t>("s8", use);
  each_register<std::uint16_t>("u16", use);
  each_register<std::int16_t>("s16", use);
  each_register<std::uint32_t>("u32", use);
  each_register<std::int32_t>("s32", use);
  each_register<std::uint64_t>("u64", use);
  each_register<std::int64_t>("s64", use);
}

// What is added to the name of a conversion: the widths of its registers.
inline std::string widths(std::size_t to, std::size_t from) { return "/" + std::to_string(to) + "/" + std::to_string(from); }

// A value of a narrow type fills its register: with its sign, or with zeros.
template <typename T, typename Register>
Register widened(T value) {
  return static_cast<Register>(value);
}

}  // namespace lockstep::ptx
