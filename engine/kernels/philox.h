// Philox 4x32-10: random numbers as a function of a counter and a key, with no state to carry along.
//
// J. Salmon, M. Moraes, R. Dror, D. Shaw: "Parallel random numbers: as easy as 1, 2, 3" (SC 2011). The same bits on host and
// device, in any order, on any number of replicas: a draw depends only on what it is for.
#pragma once

#include <cstdint>

#include <backend/host_device.h>

namespace lockstep {

struct PhiloxCounter {
  std::uint32_t x = 0, y = 0, z = 0, w = 0;
};
struct PhiloxKey {
  std::uint32_t x = 0, y = 0;
};

LOCKSTEP_HOST_DEVICE inline PhiloxCounter philox_round(PhiloxCounter c, PhiloxKey k) {
  const std::uint64_t a = std::uint64_t{0xD2511F53U} * c.x;
  const std::uint64_t b = std::uint64_t{0xCD9E8D57U} * c.z;
  return {static_cast<std::uint32_t>(b >> 32) ^ c.y ^ k.x, static_cast<std::uint32_t>(b), static_cast<std::uint32_t>(a >> 32) ^ c.w ^ k.y,
          static_cast<std::uint32_t>(a)};
}

// Four words of 32 random bits for this counter and key: ten rounds, the key raised by a Weyl sequence between them.
LOCKSTEP_HOST_DEVICE inline PhiloxCounter philox(PhiloxCounter counter, PhiloxKey key) {
  for (int round = 0; round < 10; ++round) {
    counter = philox_round(counter, key);
    key.x += 0x9E3779B9U;
    key.y += 0xBB67AE85U;
  }
  return counter;
}

LOCKSTEP_HOST_DEVICE inline PhiloxKey philox_key(std::uint64_t seed) {
  return {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)};
}

// A float in [0, 1): the upper 24 bits, all of them representable, so no rounding reaches 1.
LOCKSTEP_HOST_DEVICE inline float philox_uniform(std::uint32_t bits) { return static_cast<float>(bits >> 8) * 0x1p-24F; }

}  // namespace lockstep
