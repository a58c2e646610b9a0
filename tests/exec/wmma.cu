// mistake: wmma.load.a.*access to .*, which is
#include <cuda_fp16.h>
#include <mma.h>

#include "tests/exec/check.h"

using namespace nvcuda;

constexpr int kN = 48;

// A warp for each 16 x 16 tile of the product, on tensor cores.
__global__ void product(const half* a, const half* b, float* c, int past) {
  const int row = blockIdx.y * 16, column = blockIdx.x * 16;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> right;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.0F);
  for (int k = 0; k < kN; k += 16) {
    wmma::load_matrix_sync(left, a + row * kN + k + past, kN);
    wmma::load_matrix_sync(right, b + column * kN + k, kN);
    wmma::mma_sync(sum, left, right, sum);
  }
  for (int i = 0; i < sum.num_elements; ++i) sum.x[i] *= 2;
  wmma::store_matrix_sync(c + row * kN + column, sum, kN, wmma::mem_row_major);
}

int main(int argc, char** argv) {
  std::vector<half> a(kN * kN), b(kN * kN);
  for (int i = 0; i < kN * kN; ++i) {
    a[i] = __float2half(static_cast<float>(i % 7 - 3));
    b[i] = __float2half(static_cast<float>(i % 5 - 2));
  }
  float* const c = on_device(std::vector<float>(kN * kN));
  product<<<dim3(kN / 16, kN / 16), 32>>>(on_device(a), on_device(b), c, with_mistake(argc, argv) ? 1 << 20 : 0);
  CHECK(cudaDeviceSynchronize());
  const std::vector<float> got = on_host(c, kN * kN);
  bool right = true;
  for (int i = 0; i < kN; ++i) {
    for (int j = 0; j < kN; ++j) {
      int sum = 0;
      for (int k = 0; k < kN; ++k) sum += ((i * kN + k) % 7 - 3) * ((j * kN + k) % 5 - 2);  // b is stored by columns
      right = right && got[i * kN + j] == static_cast<float>(2 * sum);
    }
  }
  return result(right);
}
