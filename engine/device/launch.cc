// Grids that keep a GPU busy without more blocks than its loops can use.
#include "engine/device/launch.h"

#include <algorithm>

namespace lockstep {

namespace {
// Enough to fill the largest cards several times over; the rest is done by the loops inside a kernel.
constexpr std::int64_t kMostBlocks = 16384;
}  // namespace

Grid grid_for_elements(std::int64_t n) {
  constexpr std::int64_t kThreads = 256;
  return {static_cast<unsigned>(std::clamp<std::int64_t>((n + kThreads - 1) / kThreads, 1, kMostBlocks)), kThreads};
}

Grid grid_for_rows(std::int64_t rows, std::int64_t columns) {
  // Whole warps, at most 256 threads for a row.
  const std::int64_t threads = std::clamp<std::int64_t>((columns + 31) / 32 * 32, 32, 256);
  return {static_cast<unsigned>(std::clamp<std::int64_t>(rows, 1, kMostBlocks)), static_cast<unsigned>(threads)};
}

}  // namespace lockstep
