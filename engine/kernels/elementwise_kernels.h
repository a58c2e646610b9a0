// Flat buffers: fill, add, and a fingerprint of their bits.
#pragma once

#include <cuda_runtime.h>

#include <backend/cost.h>
#include <backend/view.h>

namespace lockstep::kernels {

__global__ void fill(float value, View<float> y);
inline Cost fill_cost(std::int64_t n) { return {0, 4.0 * static_cast<double>(n)}; }

// y += x
__global__ void add(View<const float> x, View<float> y);
inline Cost add_cost(std::int64_t n) { return {1.0 * static_cast<double>(n), 12.0 * static_cast<double>(n)}; }

// y(columns x rows) = x(rows x columns) transposed. Filters go from Keras' HWIO to cuDNN's KRSC this way: (HWI) x O to O x (HWI).
__global__ void transpose(View<const float> x, View<float> y, std::int64_t rows, std::int64_t columns);
inline Cost transpose_cost(std::int64_t rows, std::int64_t columns) {
  return {0, 8.0 * static_cast<double>(rows) * static_cast<double>(columns)};
}

// parts[k] = sum, modulo 2^64, of a hash of (position, word) over the k-th of parts.count equal runs of words. The hash is a
// bijection for each position, so one changed word always changes the sum; integer sums do not depend on how they are split.
__global__ void checksum(View<const std::uint32_t> words, View<std::uint64_t> parts);
inline Cost checksum_cost(std::int64_t words) { return {6.0 * static_cast<double>(words), 4.0 * static_cast<double>(words)}; }

// result[0] = sum of parts modulo 2^64.
__global__ void checksum_total(View<const std::uint64_t> parts, View<std::uint64_t> result);
inline Cost checksum_total_cost(std::int64_t parts) { return {1.0 * static_cast<double>(parts), 8.0 * static_cast<double>(parts)}; }

}  // namespace lockstep::kernels
