// The private entry points that nvcc's host code calls: registration before main, and the two halves of `kernel<<<...>>>(...)`.
//
// Their signatures are those of the toolkit's crt/host_runtime.h and crt/device_functions.h.
#include <vector>

#include "simulator/gpu/nvidia/cudart/launch.h"

using namespace lockstep::nvidia;

namespace {

struct Wrapper {  // __fatBinC_Wrapper_t of fatbinary_section.h
  int magic;
  int version;
  const void* image;
  const void* other;
};

struct Configuration {
  dim3 grid, block;
  std::size_t shared_bytes = 0;
  cudaStream_t stream = nullptr;
};

// What <<<...>>> pushed and the kernel's host function has not popped yet.
std::vector<Configuration>& configurations() {
  thread_local std::vector<Configuration> stack;
  return stack;
}

Image* image_of(void** handle) { return reinterpret_cast<Image*>(handle); }

}  // namespace

extern "C" {

void** __cudaRegisterFatBinary(void* wrapper) {
  constexpr int kMagic = 0x466243b1;
  const auto* const given = static_cast<const Wrapper*>(wrapper);
  if (given == nullptr || given->magic != kMagic || given->image == nullptr) {
    say("The program registers GPU code whose wrapper is damaged.");
    return nullptr;
  }
  return reinterpret_cast<void**>(registry().add(given->image));
}

void __cudaRegisterFatBinaryEnd(void**) {}

void __cudaUnregisterFatBinary(void** handle) {
  if (handle == nullptr) return;
  image_of(handle)->report_counts();
  registry().remove(image_of(handle));
}

void __cudaRegisterFunction(void** handle, const char* host, char*, const char* name, int, void*, void*, void*, void*, int*) {
  if (handle != nullptr) registry().add_kernel(image_of(handle), host, name);
}

void __cudaRegisterVar(void** handle, char* host, char*, const char* name, int, size_t bytes, int, int) {
  if (handle != nullptr) registry().add_variable(image_of(handle), host, name, bytes, nullptr);
}

void __cudaRegisterManagedVar(void** handle, void** host, char*, const char* name, int, size_t bytes, int, int) {
  if (handle != nullptr) registry().add_variable(image_of(handle), host, name, bytes, host);
}

void __cudaRegisterHostVar(void**, const char*, char*, size_t) {}
void __cudaRegisterUnifiedTable(void**, void*) {}

char __cudaInitModule(void** handle) {
  if (handle != nullptr) registry().place_managed(image_of(handle));
  return 1;
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream) {
  configurations().push_back({grid, block, shared_bytes, stream});
  return 0;  // anything else leaves the launch out
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes, void* stream) {
  auto& stack = configurations();
  if (stack.empty()) return lockstep::sim::remember(cudaErrorMissingConfiguration);
  const Configuration top = stack.back();
  stack.pop_back();
  *grid = top.grid;
  *block = top.block;
  *shared_bytes = top.shared_bytes;
  *static_cast<cudaStream_t*>(stream) = top.stream;
  return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host) { return cudaGetKernel(kernel, host); }

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared_bytes, cudaStream_t stream) {
  return cudaLaunchKernel(kernel, grid, block, arguments, shared_bytes, stream);
}

cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                                    cudaStream_t stream) {
  return cudaLaunchKernel(kernel, grid, block, arguments, shared_bytes, stream == nullptr ? cudaStreamPerThread : stream);
}
}
