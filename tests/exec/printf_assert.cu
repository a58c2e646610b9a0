// mistake: {line}: assertion 'threadIdx.x != 5' does not hold
// prints: thread 3 of block 1: 2.50 and text
#include <cassert>

#include "tests/exec/check.h"

__global__ void speak(bool mistake) {
  if (threadIdx.x == 3) printf("thread %d of block %u: %.2f and %s\n", threadIdx.x, blockIdx.x, 2.5, "text");
  if (mistake) {
    assert(threadIdx.x != 5);  // planted
  }
}

int main(int argc, char** argv) {
  speak<<<2, 8>>>(with_mistake(argc, argv));
  CHECK(cudaDeviceSynchronize());
  return result(true);
}
