// Small whole numbers as bytes of any NCCL type: chosen so that every reduction of them is exact, whatever its order.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <nccl.h>

namespace lockstep::test {

inline std::size_t bytes_of(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
      return 1;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64:
      return 8;
    default:
      return 4;
  }
}

inline bool is_floating(ncclDataType_t type) {
  return type == ncclFloat16 || type == ncclBfloat16 || type == ncclFloat32 || type == ncclFloat64;
}

inline bool is_unsigned(ncclDataType_t type) { return type == ncclUint8 || type == ncclUint32 || type == ncclUint64; }

// IEEE binary16 of a value that it can hold exactly.
inline std::uint16_t half_bits(double value) {
  if (value == 0) return 0;
  int exponent = 0;
  const double mantissa = std::frexp(std::abs(value), &exponent);  // in [0.5, 1)
  const auto fraction = static_cast<unsigned>(std::ldexp(mantissa, 11)) & 0x3ffu;
  return static_cast<std::uint16_t>((value < 0 ? 0x8000u : 0u) | static_cast<unsigned>(exponent + 14) << 10 | fraction);
}

template <typename T>
void append(std::vector<std::byte>& out, T value) {
  const auto* first = reinterpret_cast<const std::byte*>(&value);
  out.insert(out.end(), first, first + sizeof(T));
}

inline void append_as(std::vector<std::byte>& out, ncclDataType_t type, double value) {
  switch (type) {
    case ncclInt8:
      return append(out, static_cast<std::int8_t>(value));
    case ncclUint8:
      return append(out, static_cast<std::uint8_t>(value));
    case ncclInt32:
      return append(out, static_cast<std::int32_t>(value));
    case ncclUint32:
      return append(out, static_cast<std::uint32_t>(value));
    case ncclInt64:
      return append(out, static_cast<std::int64_t>(value));
    case ncclUint64:
      return append(out, static_cast<std::uint64_t>(value));
    case ncclFloat32:
      return append(out, static_cast<float>(value));
    case ncclFloat64:
      return append(out, value);
    case ncclFloat16:
      return append(out, half_bits(value));
    default: {  // bfloat16: the upper half of a float
      const auto f = static_cast<float>(value);
      std::uint32_t word = 0;
      std::memcpy(&word, &f, sizeof(word));
      return append(out, static_cast<std::uint16_t>(word >> 16));
    }
  }
}

inline std::vector<std::byte> encode(ncclDataType_t type, const std::vector<double>& values) {
  std::vector<std::byte> out;
  out.reserve(values.size() * bytes_of(type));
  for (const double value : values) append_as(out, type, value);
  return out;
}

}  // namespace lockstep::test
