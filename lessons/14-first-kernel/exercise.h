// Lesson 14: kernels of your own.
#pragma once

#include "lesson.h"

namespace lesson {

// y[i] = a * x[i] + y[i] for all i < y.count, whatever the grid and the block: more threads than elements, or fewer.
__global__ void saxpy(float a, View<const float> x, View<float> y) {
  // Your code. A thread finds its number with blockIdx.x, blockDim.x, threadIdx.x and gridDim.x.
}

// How many blocks of `threads` threads are needed, so that n elements have a thread each.
inline unsigned blocks_for(std::int64_t n, unsigned threads) {
  return 1;  // Your code.
}

// Block b adds up the elements x[b * blockDim.x] ... x[(b + 1) * blockDim.x - 1], as far as there are any, and writes sums[b].
// blockDim.x is a power of two, at most 256; there are sums.count blocks. Add in halves, in shared memory, as on the page.
__global__ void block_sums(View<const float> x, View<float> sums) {
  __shared__ float shared[256];
  // Your code.
}

}  // namespace lesson
