// How a long sum over rows is made in two steps: runs of rows give one partial row each, then these are joined in order. Both follow from
// the shape alone.
#pragma once

#include <cstdint>

#include <backend/host_device.h>
#include "engine/kernels/sum_order.h"

namespace lockstep::kernels {

LOCKSTEP_HOST_DEVICE inline std::int64_t row_chunks(std::int64_t rows) {
  const std::int64_t chunks = (rows + sum_order::kChunkRows - 1) / sum_order::kChunkRows;
  return chunks < 1 ? 1 : (chunks > sum_order::kMostChunks ? sum_order::kMostChunks : chunks);
}

}  // namespace lockstep::kernels
