// numpy.random.RandomState, as far as Keras' data sets need it: the Mersenne Twister and its old way to shuffle.
//
// numpy promises that this stream never changes (NEP 19). Its seeding by one number is that of std::mt19937 (Matsumoto and Nishimura's).
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace lockstep {

// A number from 0 to `largest`: bits are drawn until they are not above it.
inline std::uint32_t legacy_interval(std::mt19937& random, std::uint32_t largest) {
  std::uint32_t mask = largest;
  for (int shift = 1; shift < 32; shift *= 2) mask |= mask >> shift;
  if (mask == 0) return 0;
  std::uint32_t value = 0;
  do value = static_cast<std::uint32_t>(random()) & mask;
  while (value > largest);
  return value;
}

// numpy.arange(n) after RandomState(seed).shuffle: Fisher and Yates from the end.
inline std::vector<std::uint32_t> legacy_permutation(std::uint32_t seed, std::size_t n) {
  std::vector<std::uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0U);
  std::mt19937 random(seed);
  for (std::size_t i = n; i-- > 1;) std::swap(order[i], order[legacy_interval(random, static_cast<std::uint32_t>(i))]);
  return order;
}

}  // namespace lockstep
