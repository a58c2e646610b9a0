// mistake: {line}: cudaErrorInvalidPitchValue
#include "tests/exec/check.h"

__global__ void mark(char* rows, std::size_t pitch) { reinterpret_cast<int*>(rows + blockIdx.x * pitch)[threadIdx.x] += 100 * blockIdx.x; }

int main(int argc, char** argv) {
  const std::size_t width = 50 * sizeof(int), height = 20;
  const std::vector<int> values = counting(50 * 20);
  char* rows = nullptr;
  std::size_t pitch = 0;
  CHECK(cudaMallocPitch(&rows, &pitch, width, height));
  const std::size_t host_pitch = with_mistake(argc, argv) ? width / 2 : width;
  CHECK(cudaMemcpy2D(rows, pitch, values.data(), host_pitch, width, height, cudaMemcpyHostToDevice));  // planted
  mark<<<20, 50>>>(rows, pitch);
  std::vector<int> got(50 * 20);
  CHECK(cudaMemcpy2D(got.data(), width, rows, pitch, width, height, cudaMemcpyDeviceToHost));
  bool right = pitch >= width;
  for (int i = 0; i < 50 * 20; ++i) right = right && got[i] == values[i] + 100 * (i / 50);
  return result(right);
}
