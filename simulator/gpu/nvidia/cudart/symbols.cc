// CUDA runtime: variables of the device that the host names (__device__, __constant__).
//
// They are copied as other memory is: their addresses belong to the current device.
#include "simulator/gpu/nvidia/cudart/launch.h"

using namespace lockstep::nvidia;
using lockstep::sim::called;

namespace {

cudaError_t find(const void* symbol, std::byte** address, std::size_t* bytes) {
  if (const cudaError_t status = lockstep::sim::ready_to_use_device()) return status;
  const Variable* const variable = registry().variable(symbol);
  if (variable == nullptr) return cudaErrorInvalidSymbol;
  *bytes = variable->bytes;
  return variable->image->find(*variable, lockstep::sim::current_device(), address);
}

// Where `count` bytes of a variable from `offset` on are.
cudaError_t part(const void* symbol, std::size_t offset, std::size_t count, std::byte** address) {
  std::size_t bytes = 0;
  if (const cudaError_t status = find(symbol, address, &bytes)) return status;
  if (offset > bytes || count > bytes - offset) return cudaErrorInvalidValue;
  *address += offset;
  return cudaSuccess;
}

template <typename Copy>
cudaError_t with_part(const char* name, const void* symbol, std::size_t offset, std::size_t count, const Copy& copy) {
  std::byte* address = nullptr;
  if (const cudaError_t status = called(name, [&] { return part(symbol, offset, count, &address); })) return status;
  return copy(address);
}

}  // namespace

extern "C" {

cudaError_t cudaGetSymbolAddress(void** devPtr, const void* symbol) {
  return called(__func__, [&] {
    std::byte* address = nullptr;
    std::size_t bytes = 0;
    if (devPtr == nullptr) return cudaErrorInvalidValue;
    const cudaError_t status = find(symbol, &address, &bytes);
    if (status == cudaSuccess) *devPtr = address;
    return status;
  });
}

cudaError_t cudaGetSymbolSize(size_t* size, const void* symbol) {
  return called(__func__, [&] {
    std::byte* address = nullptr;
    return size == nullptr ? cudaErrorInvalidValue : find(symbol, &address, size);
  });
}

cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* src, size_t count, size_t offset, enum cudaMemcpyKind kind) {
  return with_part(__func__, symbol, offset, count, [&](void* address) { return cudaMemcpy(address, src, count, kind); });
}
cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* src, size_t count, size_t offset, enum cudaMemcpyKind kind,
                                    cudaStream_t stream) {
  return with_part(__func__, symbol, offset, count, [&](void* address) { return cudaMemcpyAsync(address, src, count, kind, stream); });
}
cudaError_t cudaMemcpyFromSymbol(void* dst, const void* symbol, size_t count, size_t offset, enum cudaMemcpyKind kind) {
  return with_part(__func__, symbol, offset, count, [&](void* address) { return cudaMemcpy(dst, address, count, kind); });
}
cudaError_t cudaMemcpyFromSymbolAsync(void* dst, const void* symbol, size_t count, size_t offset, enum cudaMemcpyKind kind,
                                      cudaStream_t stream) {
  return with_part(__func__, symbol, offset, count, [&](void* address) { return cudaMemcpyAsync(dst, address, count, kind, stream); });
}
}
