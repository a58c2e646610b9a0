// mistake: {line}: race: it reads 16 bytes at .* of shared memory, into which thread .* still copies in .*Fix: let that thread wait
// check: race
// machine: a100x8
// arch: 80
#include <cuda_fp16.h>

#include "tests/exec/check.h"

constexpr int kM = 64, kN = 96, kK = 80, kTile = 32, kDeep = 16, kPad = 8;

__device__ unsigned in_shared(const void* pointer) { return static_cast<unsigned>(__cvta_generic_to_shared(pointer)); }

__device__ void copy(half* to, const half* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(in_shared(to)), "l"(from) : "memory");
}

// Tensor cores on tiles that are copied while the tiles before them are multiplied: two of each in shared memory.
__global__ void product(const half* a, const half* b, float* c, bool mistake) {
  __shared__ __align__(16) half left[2][kTile][kDeep + kPad], right[2][kDeep][kTile + kPad];
  const int t = threadIdx.x, lane = t % 32, warp = t / 32, row = blockIdx.y * kTile, column = blockIdx.x * kTile;
  const auto begin_copy = [&](int k, int stage) {
    const int u = t % 64;  // 16 bytes of one of the tiles
    if (t < 64)
      copy(&left[stage][u / 2][u % 2 * 8], a + (row + u / 2) * kK + k + u % 2 * 8);
    else
      copy(&right[stage][u / 4][u % 4 * 8], b + (k + u / 4) * kN + column + u % 4 * 8);
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  float sum[2][4] = {};
  const int top = warp / 2 * 16, side = warp % 2 * 16;
  begin_copy(0, 0);
  for (int k = 0, stage = 0; k < kK; k += kDeep, stage ^= 1) {
    if (k + kDeep < kK) begin_copy(k + kDeep, stage ^ 1);
    if (k + kDeep < kK || mistake)
      asm volatile("cp.async.wait_group 1;" ::: "memory");
    else
      asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    unsigned x[4], y[2];
    const unsigned at = in_shared(&left[stage][top + lane % 16][lane / 16 * 8]);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(at));  // planted
    for (int half_tile = 0; half_tile < 2; ++half_tile) {
      const unsigned from = in_shared(&right[stage][lane % 16][side + half_tile * 8]);
      asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(y[0]), "=r"(y[1]) : "r"(from));
      float* const d = sum[half_tile];
      asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                   : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                   : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
    }
    __syncthreads();
  }
  for (int i = 0; i < 8; ++i) {
    const int y = row + top + lane / 4 + i % 4 / 2 * 8, x = column + side + i / 4 * 8 + lane % 4 * 2 + i % 2;
    c[y * kN + x] = sum[i / 4][i % 4];
  }
}

int main(int argc, char** argv) {
  std::vector<half> a(kM * kK), b(kK * kN);
  for (int i = 0; i < kM * kK; ++i) a[i] = __float2half(static_cast<float>(i % 7 - 3));
  for (int i = 0; i < kK * kN; ++i) b[i] = __float2half(static_cast<float>(i % 5 - 2));
  float* const c = on_device(std::vector<float>(kM * kN));
  product<<<dim3(kN / kTile, kM / kTile), 128>>>(on_device(a), on_device(b), c, with_mistake(argc, argv));
  CHECK(cudaDeviceSynchronize());
  const std::vector<float> got = on_host(c, kM * kN);
  bool right = true;
  for (int i = 0; i < kM; ++i) {
    for (int j = 0; j < kN; ++j) {
      int sum = 0;
      for (int k = 0; k < kK; ++k) sum += ((i * kK + k) % 7 - 3) * ((k * kN + j) % 5 - 2);
      right = right && got[i * kN + j] == static_cast<float>(sum);
    }
  }
  return result(right);
}
