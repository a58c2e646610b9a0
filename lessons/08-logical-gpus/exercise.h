// Lesson 8: logical GPUs and memory limits.
#pragma once

#include "given.h"

namespace lesson {

// Memory on this logical GPU, by cudaMalloc on device_. Counts whole steps of kStep bytes: 1 byte takes 256.
// Exactly up to the limit is fine. What would go past it is an OutOfMemory with a sentence that names the owner, the bytes asked for, the
// limit, and all holders (see holders()); then nothing has changed.
inline void* Arena::allocate(std::size_t bytes, const std::string& owner) {
  return nullptr;  // Your code.
}

// Gives memory back, so that others can have it. An address that this arena has not given out is a std::invalid_argument.
inline void Arena::release(void* address) {
  // Your code.
}

// The largest batch of a replica that fits into `limit` bytes; 0 when not even one sample does. See the formula on the page.
inline std::int64_t largest_batch(std::int64_t limit, std::int64_t parameters, int slots, std::int64_t activations_per_sample) {
  return 0;  // Your code.
}

}  // namespace lesson
