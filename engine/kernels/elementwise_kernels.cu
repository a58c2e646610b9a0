// Flat buffers: fill, add, transpose, and a fingerprint of their bits.
#include <backend/kernel_support.h>
#include <backend/transposing.h>
#include "engine/kernels/elementwise_kernels.h"

namespace lockstep::kernels {

__global__ void fill(float value, View<float> y) {
  each_in_grid(y.count, [=](std::int64_t i) { y[i] = value; });
}

__global__ void add(View<const float> x, View<float> y) {
  each_in_grid(y.count, [=](std::int64_t i) { y[i] += x[i]; });
}

__global__ void transpose(View<const float> x, View<float> y, std::int64_t rows, std::int64_t columns) {
  each_transposed(
      1, rows, columns, [=](std::int64_t /*matrix*/, std::int64_t row, std::int64_t column) { return x[row * columns + column]; },
      [=](std::int64_t /*matrix*/, std::int64_t column, std::int64_t row, float value) { y[column * rows + row] = value; });
}

namespace {

// The finaliser of SplitMix64 (Steele, Lea and Flood, 2014): every bit of the result depends on every bit of the input.
LOCKSTEP_HOST_DEVICE inline std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

}  // namespace

__global__ void checksum(View<const std::uint32_t> words, View<std::uint64_t> parts) {
  const std::int64_t run = (words.count + parts.count - 1) / parts.count;
  each_block(parts.count, [=](std::int64_t k) {
    const std::int64_t first = k * run < words.count ? k * run : words.count;
    const std::int64_t n = words.count - first < run ? words.count - first : run;
    const std::uint64_t sum = lane_sum<64>(n, [=](std::int64_t i) {
      const auto position = static_cast<std::uint64_t>(first + i);
      return mix((position << 32) ^ words[first + i] ^ (position >> 32));
    });
    each_thread(1, [=](std::int64_t) { parts[k] = sum; });
  });
}

__global__ void checksum_total(View<const std::uint64_t> parts, View<std::uint64_t> result) {
  each_block(1, [=](std::int64_t) {
    const std::uint64_t sum = lane_sum<64>(parts.count, [=](std::int64_t i) { return parts[i]; });
    each_thread(1, [=](std::int64_t) { result[0] = sum; });
  });
}

}  // namespace lockstep::kernels
