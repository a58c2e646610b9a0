// What a random draw is for: (seed, layer, step, global index of the sample, element of the sample). Nothing else goes in, so a draw is
// the same on any number of replicas and for any grid.
#pragma once

#include <cstdint>

#include <backend/host_device.h>
#include "engine/kernels/philox.h"

namespace lockstep::kernels {

struct RandomKey {
  std::uint64_t seed;
  std::uint64_t step;
  std::int64_t first_sample;  // index in the global batch of the first sample here
  std::uint32_t layer;
};

// Four words of 32 random bits for the group-th four elements of a sample.
LOCKSTEP_HOST_DEVICE inline PhiloxCounter random_words(const RandomKey& key, std::int64_t sample, std::int64_t group) {
  const auto word = [](std::uint64_t value, int shift) { return static_cast<std::uint32_t>(value >> shift); };
  const auto index = static_cast<std::uint64_t>(key.first_sample + sample);
  return philox({word(static_cast<std::uint64_t>(group), 0), word(index, 0), word(key.step, 0),
                 key.layer ^ word(key.step, 32) ^ (word(index, 32) << 16)},
                philox_key(key.seed));
}

}  // namespace lockstep::kernels
