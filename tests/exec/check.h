// What the programs share. Each prints "ok" when its results are right; with the argument `mistake` it does one thing wrong, which its
// first lines name:
//   // mistake: what the virtual GPU or the program must say, where {line} stands for "line" and the number of
//   the line that ends in "// planted"
//   // machine: the modelled machine, where it is not t4
//   // arch: the architecture of its PTX, where it is not 75
//   // link: further arguments for nvcc
//   // check: the checks that find the mistake, where it needs any
//   // counts: what --counts prints
//   // mpi: the number of processes that mpirun starts
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(call)                                                      \
  do {                                                                   \
    const cudaError_t status_ = (call);                                  \
    if (status_ != cudaSuccess) {                                        \
      std::printf("line %d: %s\n", __LINE__, cudaGetErrorName(status_)); \
      std::exit(1);                                                      \
    }                                                                    \
  } while (0)

inline bool with_mistake(int argc, char** argv) { return argc > 1 && std::strcmp(argv[1], "mistake") == 0; }

inline int result(bool right) {
  std::printf(right ? "ok\n" : "wrong\n");
  return right ? 0 : 2;
}

// Memory of the device with the values of the host.
template <typename T>
T* on_device(const std::vector<T>& values) {
  T* memory = nullptr;
  CHECK(cudaMalloc(&memory, values.size() * sizeof(T)));
  CHECK(cudaMemcpy(memory, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  return memory;
}

template <typename T>
std::vector<T> on_host(const T* memory, std::size_t count) {
  std::vector<T> values(count);
  CHECK(cudaMemcpy(values.data(), memory, count * sizeof(T), cudaMemcpyDeviceToHost));
  return values;
}

inline std::vector<int> counting(int n) {
  std::vector<int> values(n);
  for (int i = 0; i < n; ++i) values[i] = i % 17;
  return values;
}
