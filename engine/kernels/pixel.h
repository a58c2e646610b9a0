// Which pixel of a batch of images a number stands for, and back.
#pragma once

#include <cstdint>

#include <backend/host_device.h>

namespace lockstep::kernels {

struct Pixel {
  std::int32_t n, y, x;
};

// Pixel `index` of batch x height x width.
LOCKSTEP_HOST_DEVICE inline Pixel pixel_at(std::int64_t index, std::int32_t height, std::int32_t width) {
  const auto row = static_cast<std::int32_t>(index / width);
  return {row / height, row % height, static_cast<std::int32_t>(index - static_cast<std::int64_t>(row) * width)};
}

LOCKSTEP_HOST_DEVICE inline std::int64_t index_of(const Pixel& at, std::int32_t height, std::int32_t width) {
  return (static_cast<std::int64_t>(at.n) * height + at.y) * width + at.x;
}

}  // namespace lockstep::kernels
