// mistake: {line}: cudaErrorInvalidValue
#include "tests/exec/check.h"

__constant__ float weights[3];

__global__ void blur(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < 1 || i >= n - 1) return;
  out[i] = weights[0] * in[i - 1] + weights[1] * in[i] + weights[2] * in[i + 1];
}

int main(int argc, char** argv) {
  const float host[4] = {0.25f, 0.5f, 0.25f, 9};
  CHECK(cudaMemcpyToSymbol(weights, host, with_mistake(argc, argv) ? sizeof(host) : 3 * sizeof(float)));  // planted
  std::vector<float> values(500);
  for (int i = 0; i < 500; ++i) values[i] = static_cast<float>(i * i % 64);
  float* const out = on_device(values);
  blur<<<4, 128>>>(on_device(values), out, 500);
  CHECK(cudaDeviceSynchronize());
  const std::vector<float> got = on_host(out, 500);
  bool right = got[0] == values[0];
  for (int i = 1; i < 499; ++i) right = right && got[i] == 0.25f * values[i - 1] + 0.5f * values[i] + 0.25f * values[i + 1];
  return result(right);
}
