// For fat_binary_test.cc: enough text that each compression does something.
__global__ void scaled_sum(const float* a, const float* b, float* c, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) c[i] = 3 * a[i] + b[i];
}
