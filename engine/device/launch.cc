// Grids that keep a GPU busy without more blocks than its loops can use.
#include "engine/device/launch.h"

#include <algorithm>

#include <backend/tuning.h>

namespace lockstep {

using tuning::kBlockThreads;
using tuning::kMostBlocks;

Grid grid_for_elements(std::int64_t n) {
  return {static_cast<unsigned>(std::clamp<std::int64_t>((n + kBlockThreads - 1) / kBlockThreads, 1, kMostBlocks)), kBlockThreads};
}

Grid grid_for_rows(std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t kWarp = 32;
  const std::int64_t threads = std::clamp((columns + kWarp - 1) / kWarp * kWarp, kWarp, kBlockThreads);
  return {static_cast<unsigned>(std::clamp<std::int64_t>(rows, 1, kMostBlocks)), static_cast<unsigned>(threads)};
}

}  // namespace lockstep
