// Lesson 6: barrier. Replicas meet, the host waits, and all replicas are compared.
#pragma once

#include "lesson.h"

namespace lesson {

// Work put into any replica's stream afterwards runs only after all work put into every replica's stream before.
// The host does not wait. Each replica has an event `ready` to use.
inline void meet(const std::vector<Replica>& replicas) {
  // Your code.
}

// Returns when everything in all replicas' streams is done.
inline void wait_for_all(const std::vector<Replica>& replicas) {
  // Your code.
}

// One number that changes when any bit of any value changes, or when values change places. See the page.
inline std::uint64_t checksum(const std::vector<float>& values) {
  return 0;  // Your code. The bits of a float: std::uint32_t bits; std::memcpy(&bits, &value, 4);
}

// The first replica whose checksum is not that of replica 0; -1 when all are the same.
inline int first_different(const std::vector<std::uint64_t>& checksums) {
  return -1;  // Your code.
}

// The loss is w^2. Makes `steps` steps from w(0) = start with gradients that are `delay` steps old, as on the page, and returns w(0), w(1),
// ..., w(steps).
inline std::vector<double> descend(double start, double learning_rate, int delay, int steps) {
  return {start};  // Your code.
}

}  // namespace lesson
