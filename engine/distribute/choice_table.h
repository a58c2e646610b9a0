// Which algorithm sums gradients among logical GPUs of one card, by the number of replicas: what bench/cross_device_bench printed on a
// quiet machine (virtual GPU, two cores, 1 and 4 MiB buckets; docs/algorithms.md has the figures). A table and not a measurement at
// start-up, so that the same program always adds in the same order.
#pragma once

#include <array>
#include <cstddef>

namespace lockstep {

inline const char* fastest_among_logical_gpus(std::size_t replicas) {
  constexpr std::array<const char*, 9> kFastest = {
      "one-device", "one-device", "one-device", "tree", "hierarchical-copy", "hierarchical-copy", "ring", "ring", "hierarchical-copy"};
  return kFastest[replicas < kFastest.size() ? replicas : kFastest.size() - 1];
}

}  // namespace lockstep
