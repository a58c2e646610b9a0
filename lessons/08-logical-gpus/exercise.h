// Lesson 8: logical GPUs and memory limits.
#pragma once

#include "given.h"

namespace lesson {

// Memory on this logical GPU, by cudaMalloc on device_. Counts whole steps of kStep bytes: 1 byte takes 256.
// Exactly up to the limit is fine. Beyond it, throws OutOfMemory with a sentence that names the owner, the bytes asked for, the limit and
// all holders (see holders()), and changes nothing.
inline void* Arena::allocate(std::size_t bytes, const std::string& owner) {
  return nullptr;  // Your code.
}

// Frees memory, so that it can be allocated again. Throws std::invalid_argument for an address that this arena has not allocated.
inline void Arena::release(void* address) {
  // Your code.
}

// The largest batch of a replica that fits into `limit` bytes; 0 when not even one sample does. See the formula on the page.
inline std::int64_t largest_batch(std::int64_t limit, std::int64_t parameters, int slots, std::int64_t activations_per_sample) {
  return 0;  // Your code.
}

}  // namespace lesson
