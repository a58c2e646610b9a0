// mistake: {line}: cudaErrorInvalidConfiguration
#include "tests/exec/check.h"

__global__ void busy(int* values, int n) {
  int s = 0;
  for (int i = 0; i < n; ++i) values[threadIdx.x] = s = s * 3 + __popc(s) + __float2int_rn(sqrtf(i));
}

// The process ends while the kernel runs.
int main(int argc, char** argv) {
  int* const values = on_device(counting(256));
  busy<<<with_mistake(argc, argv) ? 0 : 64, 256>>>(values, 2000);
  CHECK(cudaGetLastError());  // planted
  return result(true);
}
