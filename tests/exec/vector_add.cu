// counts: 1 of 32 +375 / 375 +0 / 0 +0 / 0  in all
// mistake: {line}: access to 4 bytes
#include "tests/exec/check.h"

__global__ void add(const float* a, const float* b, float* c, int n, bool guarded) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n || !guarded) c[i] = a[i] + b[i];  // planted
}

int main(int argc, char** argv) {
  const int n = 1000;
  std::vector<float> a(n), b(n);
  for (int i = 0; i < n; ++i) a[i] = 0.5f * i, b[i] = 3.0f;
  float *da = on_device(a), *db = on_device(b), *dc = on_device(a);
  add<<<(n + 127) / 128, 128>>>(da, db, dc, n, !with_mistake(argc, argv));
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  const std::vector<float> c = on_host(dc, n);
  bool right = true;
  for (int i = 0; i < n; ++i) right = right && c[i] == a[i] + b[i];
  return result(right);
}
