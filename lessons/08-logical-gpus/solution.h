// Lesson 8: logical GPUs and memory limits.
#pragma once

#include "given.h"

namespace lesson {

inline void* Arena::allocate(std::size_t bytes, const std::string& owner) {
  const std::size_t left = limit_ - used_;
  const std::size_t taken = bytes > left ? bytes : (bytes + kStep - 1) / kStep * kStep;  // so that a very large size does not overflow
  if (taken > left) {
    throw OutOfMemory(owner + " asked for " + std::to_string(bytes) + " bytes, but only " + std::to_string(limit_ - used_) + " of " +
                      std::to_string(limit_) + " are free. Held: " + holders() + ".");
  }
  CHECK_CUDA(cudaSetDevice(device_));
  void* address = nullptr;
  CHECK_CUDA(cudaMalloc(&address, taken));
  used_ += taken;
  blocks_[address] = {taken, owner};
  return address;
}

inline void Arena::release(void* address) {
  const auto found = blocks_.find(address);
  if (found == blocks_.end()) throw std::invalid_argument("This address was not allocated by this arena.");
  CHECK_CUDA(cudaFree(address));
  used_ -= found->second.bytes;
  blocks_.erase(found);
}

inline std::int64_t largest_batch(std::int64_t limit, std::int64_t parameters, int slots, std::int64_t activations_per_sample) {
  const std::int64_t left = limit - 4 * parameters * (2 + slots);
  return std::max<std::int64_t>(0, left / (4 * activations_per_sample));
}

}  // namespace lesson
