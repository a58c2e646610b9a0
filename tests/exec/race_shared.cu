// mistake: {line}: race: it writes 4 bytes at .* of the block reads in .*race_shared.cu line 14, and no barrier.*Fix: put __sync
// check: race
#include "tests/exec/check.h"

constexpr int kThreads = 128;

// Each thread takes the mean of its neighbours, some times.
__global__ void smooth(float* values, int times, bool mistake) {
  __shared__ float now[kThreads];
  const int t = threadIdx.x, before = t > 0 ? t - 1 : t, after = t + 1 < kThreads ? t + 1 : t;
  now[t] = values[t];
  for (int k = 0; k < times; ++k) {
    __syncthreads();
    const float mean = (now[before] + now[after]) / 2;
    if (!mistake) __syncthreads();
    now[t] = mean;  // planted
  }
  values[t] = now[t];
}

int main(int argc, char** argv) {
  std::vector<float> values(kThreads);
  for (int i = 0; i < kThreads; ++i) values[i] = static_cast<float>(i % 9);
  float* const memory = on_device(values);
  smooth<<<1, kThreads>>>(memory, 5, with_mistake(argc, argv));
  CHECK(cudaDeviceSynchronize());
  for (int k = 0; k < 5; ++k) {
    const std::vector<float> old = values;
    for (int i = 0; i < kThreads; ++i) values[i] = (old[i > 0 ? i - 1 : i] + old[i + 1 < kThreads ? i + 1 : i]) / 2;
  }
  return result(on_host(memory, kThreads) == values);
}
