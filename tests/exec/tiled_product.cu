// mistake: {line}: misaligned access to 16 bytes
#include "tests/exec/check.h"

constexpr int kTile = 16, kN = 64;

__global__ void product(const float* a, const float* b, float* c) {
  __shared__ float left[kTile][kTile], right[kTile][kTile + 1];
  const int x = threadIdx.x, y = threadIdx.y, column = blockIdx.x * kTile + x, row = blockIdx.y * kTile + y;
  float sum = 0;
  for (int k = 0; k < kN; k += kTile) {
    left[y][x] = a[row * kN + k + x];
    right[y][x] = b[(k + y) * kN + column];
    __syncthreads();
    for (int i = 0; i < kTile; ++i) sum += left[y][i] * right[i][x];
    __syncthreads();
  }
  c[row * kN + column] = sum;
}

__global__ void scale(float* c, int offset) {
  float4* const four = reinterpret_cast<float4*>(c + offset) + threadIdx.x;
  float4 v = *four;  // planted
  v.x *= 2, v.y *= 2, v.z *= 2, v.w *= 2;
  *four = v;
}

int main(int argc, char** argv) {
  std::vector<float> a(kN * kN), b(kN * kN);
  for (int i = 0; i < kN * kN; ++i) a[i] = static_cast<float>(i % 7), b[i] = static_cast<float>(i % 5 - 2);
  float* const c = on_device(a);
  product<<<dim3(kN / kTile, kN / kTile), dim3(kTile, kTile)>>>(on_device(a), on_device(b), c);
  scale<<<1, kN * kN / 4 / 4>>>(c, with_mistake(argc, argv) ? 1 : 0);
  CHECK(cudaDeviceSynchronize());
  const std::vector<float> got = on_host(c, kN * kN);
  bool right = true;
  for (int row = 0; row < kN; ++row) {
    for (int column = 0; column < kN; ++column) {
      float sum = 0;
      for (int k = 0; k < kN; ++k) sum += a[row * kN + k] * b[k * kN + column];
      right = right && got[row * kN + column] == (row < kN / 4 ? 2 * sum : sum);
    }
  }
  return result(right);
}
