// The gradient of what a 1-D convolution read.
#include "engine/kernels/sequence_convolution_kernels.h"

#include <backend/kernel_support.h>
#include <backend/lanes.h>
#include <backend/transposing.h>

namespace lockstep::kernels {

namespace {

// Steps of a sequence (in groups of three, each with a pointer of its own: addresses take registers, too) and channels that a thread makes
// at once.
template <int Width, int Groups, int Each, int Vectors>
LOCKSTEP_DEVICE void make_tile(const SequenceShape& s, const float* dy, const float* turned, std::int32_t channel, float* dx) {
  constexpr int kSteps = Groups * Each;
  const std::int32_t apart = vectors_apart<Width>(s.padded_channels() / (Vectors * Width));
  Lanes<Width> sums[kSteps][Vectors];
  for (int t = 0; t < kSteps; ++t)
    for (int v = 0; v < Vectors; ++v) sums[t][v] = fill_lanes<Width>(0.0F);
  const float* weights = turned + channel;
  for (std::int32_t q = 0; q < s.taps; ++q) {
    const float* from[Groups];
    for (int g = 0; g < Groups; ++g) from[g] = dy + static_cast<std::int64_t>(s.taps - 1 - q + g * Each) * s.filters;
    for (std::int32_t k = 0; k < s.filters; ++k, weights += s.padded_channels()) {
      Lanes<Width> row[Vectors];
      for (int v = 0; v < Vectors; ++v) row[v] = load_lanes<Width>(weights + v * apart);
      for (int t = 0; t < kSteps; ++t) {
        const Lanes<Width> value = fill_lanes<Width>(from[t / Each][static_cast<std::int64_t>(t % Each) * s.filters + k]);
        for (int v = 0; v < Vectors; ++v) sums[t][v] = fused(value, row[v], sums[t][v]);
      }
    }
  }
  for (int t = 0; t < kSteps; ++t) {
    for (int v = 0; v < Vectors; ++v) {
      const std::int32_t first = channel + v * apart;
      float* to = dx + static_cast<std::int64_t>(t) * s.channels + first;
      if (first + Width <= s.channels) {
        store_lanes<Width>(to, sums[t][v]);
      } else {
        float all[Width];
        store_lanes<Width>(all, sums[t][v]);
        for (std::int32_t c = first; c < s.channels; ++c) to[c - first] = all[c - first];
      }
    }
  }
}

template <int Width, int Groups, int Vectors>
LOCKSTEP_DEVICE void make_tiles(const SequenceShape& s, View<const float> dy, View<const float> turned, View<float> dx) {
  constexpr int kEach = 3, kSteps = Groups * kEach;
  const std::int32_t runs = (s.steps + kSteps - 1) / kSteps, tiles = s.padded_channels() / (Vectors * Width);
  each_in_grid(static_cast<std::int64_t>(s.batch) * runs * tiles, [=](std::int64_t index) {
    const std::int32_t channel = first_of_tile<Width, Vectors>(static_cast<std::int32_t>(index % tiles));
    const std::int32_t first = static_cast<std::int32_t>(index / tiles % runs) * kSteps;
    const std::int64_t n = index / tiles / runs;
    const float* from = dy.data + (n * s.padded_steps() + first) * s.filters;
    float* to = dx.data + (n * s.steps + first) * s.channels;
    if (first + kSteps <= s.steps) {
      make_tile<Width, Groups, kEach, Vectors>(s, from, turned.data, channel, to);
    } else {
      std::int32_t t = first;
      for (; t + kEach <= s.steps; t += kEach, from += kEach * s.filters, to += kEach * s.channels)
        make_tile<Width, 1, kEach, Vectors>(s, from, turned.data, channel, to);
      for (; t < s.steps; ++t, from += s.filters, to += s.channels) make_tile<Width, 1, 1, Vectors>(s, from, turned.data, channel, to);
    }
  });
}

}  // namespace

__global__ void turn_filter(SequenceShape s, View<const float> filter, View<float> turned) {
  const std::int32_t padded = s.padded_channels();
  each_transposed(
      s.taps, padded, s.filters,
      [=](std::int64_t q, std::int64_t c, std::int64_t k) { return c < s.channels ? filter[(q * s.channels + c) * s.filters + k] : 0.0F; },
      [=](std::int64_t q, std::int64_t k, std::int64_t c, float value) { turned[(q * s.filters + k) * padded + c] = value; });
}

__global__ void sequence_input_gradient(SequenceShape s, View<const float> dy, View<const float> turned, View<float> dx) {
  // Sums in three quarters of the registers, as many as the channels allow.
  if (s.padded_channels() % (2 * kRegisterLanes) == 0) {
    make_tiles<kRegisterLanes, kRegisters / 8, 2>(s, dy, turned, dx);
  } else if (s.padded_channels() % (2 * kFewLanes) == 0) {
    make_tiles<kFewLanes, kRegisters / 8, 2>(s, dy, turned, dx);
  } else {
    make_tiles<kFewLanes, kRegisters * 3 / 16, 1>(s, dy, turned, dx);
  }
}

}  // namespace lockstep::kernels
