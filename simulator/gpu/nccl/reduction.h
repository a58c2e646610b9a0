// The arithmetic of a reduction, for every element type: plain loops over blocks, which the compiler vectorises.
#pragma once

#include <cstddef>

#include <nccl.h>

namespace lockstep::sim::nccl {

std::size_t size_of(ncclDataType_t type);  // bytes of an element; 0 for what is no type
const char* name_of(ncclDataType_t type);
const char* name_of(ncclRedOp_t op);

// sum, prod, max and min combine as they say. An average of floating-point values is a sum of values multiplied by 1/ranks
// beforehand, an average of integers is a sum divided at the end (towards zero): so NCCL does it.
struct Reduction {
  using Start = void (*)(void* accumulator, const void* values, std::size_t count, int ranks);    // accumulator = first value
  using Combine = void (*)(void* accumulator, const void* values, std::size_t count, int ranks);  // accumulator = op(accumulator, value)
  using Finish = void (*)(void* accumulator, std::size_t count, int ranks);
  using Join = void (*)(void* accumulator, const void* partial, std::size_t count);  // two accumulators into one

  Start start = nullptr;
  Combine combine = nullptr;
  Join join = nullptr;
  Finish finish = nullptr;
};

// Both must be valid.
Reduction reduction_for(ncclDataType_t type, ncclRedOp_t op);

}  // namespace lockstep::sim::nccl
