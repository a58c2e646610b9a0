// Wrong: every replica counts the same, however many samples it has.
// Says: 10 values in shards of 7, 2, 1 and 0
#pragma once

#include "lesson.h"

namespace lesson {

struct Moments {
  std::int64_t count = 0;
  double mean = 0;
  double variance = 0;  // the mean of the squared distances from the mean
};

inline Moments moments(const std::vector<float>& values) {
  Moments result{static_cast<std::int64_t>(values.size()), 0, 0};
  if (values.empty()) return result;
  const auto n = static_cast<double>(values.size());
  for (const float value : values) result.mean += value / n;
  for (const float value : values) result.variance += (value - result.mean) * (value - result.mean) / n;
  return result;
}

inline Moments merge(const std::vector<Moments>& replicas) {
  Moments all;
  for (const Moments& one : replicas) all.count += one.count;
  if (all.count == 0) return all;
  const auto total = static_cast<double>(all.count);
  for (const Moments& one : replicas) all.mean += one.mean / static_cast<double>(replicas.size());
  for (const Moments& one : replicas) {
    const double distance = one.mean - all.mean;
    all.variance += static_cast<double>(one.count) * (one.variance + distance * distance) / total;
  }
  return all;
}

inline double update_moving(double moving, double value, double momentum) { return momentum * moving + (1 - momentum) * value; }

inline int steps_until(double momentum, double share) {
  int steps = 0;
  for (double left = 1; left > 1 - share; left *= momentum) ++steps;
  return steps;
}

inline double momentum_for(int steps, double share) { return std::pow(1 - share, 1.0 / steps); }

}  // namespace lesson
