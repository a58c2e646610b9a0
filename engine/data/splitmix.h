// A small random generator whose numbers are the same on every machine: SplitMix64 (Steele, Lea, Flood: "Fast splittable
// pseudorandom number generators", 2014).
#pragma once

#include <cstdint>

namespace lockstep {

class SplitMix64 {
 public:
  // Independent streams for every pair: (seed, epoch) of a shuffle, (seed, image) of a drawn digit.
  SplitMix64(std::uint64_t seed, std::uint64_t stream) : state_(mix(seed + kGolden) ^ mix(stream + 2 * kGolden)) {}

  std::uint64_t next() { return mix(state_ += kGolden); }

  // Uniform in [0, n), n > 0, without the bias of a plain remainder: numbers past the last whole multiple of n are drawn again.
  std::uint64_t below(std::uint64_t n) {
    const std::uint64_t remainder = (0 - n) % n;  // 2^64 mod n
    for (;;) {
      const std::uint64_t number = next();
      if (number >= remainder) return number % n;
    }
  }

  // Uniform in [0, 1), 24 bits: exact in float.
  float uniform() { return static_cast<float>(next() >> 40) * 0x1p-24F; }
  float between(float low, float high) { return low + (high - low) * uniform(); }
  // Bell-shaped around 0 with variance 1 and no tail past 3.5: the sum of four uniforms, moved and scaled.
  float bell() {
    const float sum = uniform() + uniform() + uniform() + uniform();
    return (sum - 2.0F) * 1.7320508F;
  }

 private:
  static constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15ULL;
  static std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }

  std::uint64_t state_;
};

}  // namespace lockstep
