// check: race
// mistake: race: .memset. on stream 1 .*was issued by cudaMemcpy in main
#include <cmath>

#include "tests/exec/check.h"

constexpr int kN = 34;

// One step of Jacobi's method for Laplace's equation, in double precision; the largest change goes to mapped host memory.
__global__ void step(const double* from, double* to, unsigned long long* change) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= kN - 1 || y >= kN - 1) return;
  const int i = y * kN + x;
  const double value = 0.25 * (from[i - 1] + from[i + 1] + from[i - kN] + from[i + kN]);
  to[i] = value;
  atomicMax(change, __double_as_longlong(fabs(value - from[i])));  // of positive doubles, order is that of their bits
}

int main(int argc, char** argv) {
  std::vector<double> values(kN * kN);
  for (int x = 0; x < kN; ++x) values[x] = 1;
  double *from = on_device(values), *to = on_device(values);
  cudaStream_t other;
  CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  CHECK(cudaMemsetAsync(to, 0, kN * kN * sizeof(double), other));
  if (!with_mistake(argc, argv)) CHECK(cudaStreamSynchronize(other));
  CHECK(cudaMemcpy(to, from, kN * kN * sizeof(double), cudaMemcpyDeviceToDevice));
  unsigned long long *change = nullptr, *on_gpu = nullptr;
  CHECK(cudaHostAlloc(&change, sizeof(*change), cudaHostAllocMapped));
  CHECK(cudaHostGetDevicePointer(&on_gpu, change, 0));
  std::vector<double> next = values;
  bool right = true;
  for (int k = 0; k < 10; ++k) {
    *change = 0;
    step<<<dim3(3, 3), dim3(16, 16)>>>(from, to, on_gpu);
    CHECK(cudaDeviceSynchronize());
    double largest = 0;
    for (int y = 1; y < kN - 1; ++y) {
      for (int x = 1; x < kN - 1; ++x) {
        const int i = y * kN + x;
        next[i] = 0.25 * (values[i - 1] + values[i + 1] + values[i - kN] + values[i + kN]);
        largest = std::fmax(largest, std::fabs(next[i] - values[i]));
      }
    }
    double seen = 0;
    std::memcpy(&seen, change, sizeof(seen));
    right = right && seen == largest;
    std::swap(values, next);
    std::swap(from, to);
  }
  return result(right && on_host(from, kN * kN) == values);
}
