// Lesson 13: how far does it scale? All formulas are on the page.
#pragma once

#include "given.h"

namespace lesson {

// A ring over n GPUs with these links: 0 for one GPU.
inline double ring_ms(int n, double mib, const Link& link) {
  return 0;  // Your code.
}

// A step on n GPUs with `batch` samples each. The ring has the inside links as long as all GPUs are in one machine, else the network's.
inline double step_ms(const Work& work, const Cluster& cluster, int n, double batch) {
  return 0;  // Your code.
}

inline double efficiency(const Work& work, const Cluster& cluster, int n, double batch) {
  return 0;  // Your code.
}

// The largest of n = 1, 2, 4, ..., 1024 up to which the efficiency never falls below `wanted`.
inline int knee(const Work& work, const Cluster& cluster, double batch, double wanted) {
  return 0;  // Your code.
}

// Two levels: inside each of m machines with g GPUs, and between them. One machine has no network, one GPU a machine nothing inside.
inline double two_level_ms(int machines, int gpus, double mib, const Cluster& cluster) {
  return 0;  // Your code.
}

// The smallest whole batch per GPU, from 1 to `most`, with which n GPUs have this efficiency; 0 when there is none.
inline int batch_for(const Work& work, const Cluster& cluster, int n, double wanted, int most) {
  return 0;  // Your code.
}

}  // namespace lesson
