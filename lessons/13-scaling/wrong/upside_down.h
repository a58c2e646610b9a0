// Wrong: the efficiency is upside down.
// Says: It is the other way round
#pragma once

#include "given.h"

namespace lesson {

inline double ring_ms(int n, double mib, const Link& link) { return 2 * (n - 1) * (link.latency_ms + mib / n * link.ms_per_mib); }

inline double step_ms(const Work& work, const Cluster& cluster, int n, double batch) {
  const double compute = work.fixed_ms + batch * work.ms_per_sample;
  const double ring = ring_ms(n, work.gradient_mib, n <= cluster.gpus_per_machine ? cluster.inside : cluster.network);
  return compute + std::max(0.0, ring - work.overlap * compute);
}

inline double efficiency(const Work& work, const Cluster& cluster, int n, double batch) {
  return step_ms(work, cluster, n, batch) / step_ms(work, cluster, 1, batch);
}

inline int knee(const Work& work, const Cluster& cluster, double batch, double wanted) {
  int best = 1;
  for (int n = 2; n <= 1024 && efficiency(work, cluster, n, batch) >= wanted; n *= 2) best = n;
  return best;
}

inline double two_level_ms(int machines, int gpus, double mib, const Cluster& cluster) {
  return ring_ms(gpus, mib, cluster.inside) + ring_ms(machines, mib / gpus, cluster.network);
}

inline int batch_for(const Work& work, const Cluster& cluster, int n, double wanted, int most) {
  for (int batch = 1; batch <= most; ++batch) {
    if (efficiency(work, cluster, n, batch) >= wanted) return batch;
  }
  return 0;
}

}  // namespace lesson
