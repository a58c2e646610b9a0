// Arrays of floats as tensors store them: in single precision or in one of the 16-bit types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "simulator/gpu/runtime/float16.h"

namespace lockstep::sim {

enum class Storage { f32, f16, bf16 };

inline std::size_t bytes_of(Storage storage) { return storage == Storage::f32 ? sizeof(float) : sizeof(std::uint16_t); }

// Elements [offset, offset + count) of a stored array, as floats.
inline void load(Storage storage, const void* from, std::int64_t offset, std::int64_t count, float* to) {
  switch (storage) {
    case Storage::f32:
      std::memcpy(to, static_cast<const float*>(from) + offset, static_cast<std::size_t>(count) * sizeof(float));
      break;
    case Storage::f16: {
      const auto* values = static_cast<const Float16*>(from) + offset;
      for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(values[i]);
      break;
    }
    case Storage::bf16: {
      const auto* values = static_cast<const Bfloat16*>(from) + offset;
      for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(values[i]);
      break;
    }
  }
}

// The other way, rounding to nearest even.
inline void store(Storage storage, const float* from, std::int64_t count, void* to, std::int64_t offset) {
  switch (storage) {
    case Storage::f32:
      std::memcpy(static_cast<float*>(to) + offset, from, static_cast<std::size_t>(count) * sizeof(float));
      break;
    case Storage::f16: {
      auto* values = static_cast<Float16*>(to) + offset;
      for (std::int64_t i = 0; i < count; ++i) values[i] = Float16::from(from[i]);
      break;
    }
    case Storage::bf16: {
      auto* values = static_cast<Bfloat16*>(to) + offset;
      for (std::int64_t i = 0; i < count; ++i) values[i] = Bfloat16::from(from[i]);
      break;
    }
  }
}

}  // namespace lockstep::sim
