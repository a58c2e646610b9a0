// The gradient of what a 1-D convolution of stride 1 read: where rows are one pixel high, libraries made for images waste much of their
// work.
#pragma once

#include <cuda_runtime.h>

#include <backend/cost.h>
#include <backend/view.h>

namespace lockstep::kernels {

struct SequenceShape {
  std::int32_t batch, steps, channels;  // what the convolution read
  std::int32_t filters, taps;           // it made steps - taps + 1 rows of `filters`

  LOCKSTEP_HOST_DEVICE std::int32_t padded_steps() const { return steps + taps - 1; }
  LOCKSTEP_HOST_DEVICE std::int32_t padded_channels() const { return (channels + 7) / 8 * 8; }
};

// turned(taps, filters, padded channels) = filter(taps, channels, filters), zeros behind the last channel: channels lie side by side.
__global__ void turn_filter(SequenceShape shape, View<const float> filter, View<float> turned);
inline Cost turn_filter_cost(const SequenceShape& s) { return {0, 4.0 * s.taps * s.filters * (s.channels + s.padded_channels())}; }

// dx(n, t, c) = sum over taps q and filters k of dy(n, t - q, k) * filter(q, c, k), as a chain of fused multiply-adds in this order. dy has
// taps - 1 rows of zeros in front of each sequence and behind it: (batch, padded steps, filters).
__global__ void sequence_input_gradient(SequenceShape shape, View<const float> dy, View<const float> turned, View<float> dx);
inline Cost sequence_input_gradient_cost(const SequenceShape& s) {
  const double rows = 1.0 * s.batch * (s.steps - s.taps + 1);
  return {2 * rows * s.filters * s.taps * s.channels, 4.0 * s.batch * (1.0 * s.padded_steps() * s.filters + 1.0 * s.steps * s.channels) +
                                                          4.0 * s.taps * s.filters * s.padded_channels()};
}

}  // namespace lockstep::kernels
