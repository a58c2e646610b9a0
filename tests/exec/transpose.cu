// check: memory
// counts: 9216 / 288 +0 / 0  transpose.cu line 1[0-9]\n.*Li1E.* 576 / 576 +0 / 0  in all
// mistake: uninitialised read: .* that cudaMalloc in main allocated .*issued by cudaMemcpy in on_host, from main
#include "tests/exec/check.h"

constexpr int kN = 96, kTile = 32;

template <int kPad>
__global__ void transpose(const int* in, int* out) {
  __shared__ int tile[kTile][kTile + kPad];  // kPad 0: 32 ways of conflict
  const int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
  for (int j = 0; j < kTile; j += 8) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * kN + x];
  __syncthreads();
  const int tx = blockIdx.y * kTile + threadIdx.x, ty = blockIdx.x * kTile + threadIdx.y;
  for (int j = 0; j < kTile; j += 8) out[(ty + j) * kN + tx] = tile[threadIdx.x][threadIdx.y + j];
}

int main(int argc, char** argv) {
  const std::vector<int> values = counting(kN * kN);
  int *in = on_device(values), *plain = on_device(values), *padded = nullptr;
  CHECK(cudaMalloc(&padded, kN * kN * sizeof(int)));
  if (with_mistake(argc, argv)) on_host(padded, kN * kN);
  transpose<0><<<dim3(3, 3), dim3(32, 8)>>>(in, plain);
  transpose<1><<<dim3(3, 3), dim3(32, 8)>>>(in, padded);
  CHECK(cudaDeviceSynchronize());
  const std::vector<int> a = on_host(plain, kN * kN), b = on_host(padded, kN * kN);
  bool right = a == b;
  for (int i = 0; i < kN; ++i) {
    for (int j = 0; j < kN; ++j) right = right && a[i * kN + j] == values[j * kN + i];
  }
  return result(right);
}
