// Lesson 1: replicate. Every replica gets the weights of replica 0.
#pragma once

#include "lesson.h"

namespace lesson {

// Copies replicas[0].buffer to the buffer of every other replica: `count` floats each.
//
// - Put the copy for replica r into replica r's own stream. Do not wait on the host.
// - Replica 0's stream may still be busy writing its weights when this is called, so the copies must come after that. Use an event:
//   each replica has one, `ready`, made for its own GPU.
// - Later work in replica 0's stream may change the weights, so replica 0's stream must wait until all copies are done.
inline void replicate(const std::vector<Replica>& replicas) {
  // Your code.
}

// Whether the two have the same bits. Note that NaN == NaN is false, and 0.0f == -0.0f is true.
inline bool same_bits_on_host(const std::vector<float>& a, const std::vector<float>& b) {
  return true;  // Your code.
}

}  // namespace lesson
