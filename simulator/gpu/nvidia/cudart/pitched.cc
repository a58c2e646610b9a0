// CUDA runtime: rows with a pitch. A copy or fill of rows is one of each row, in order on the stream.
#include <algorithm>

#include "simulator/gpu/nvidia/cudart/launch.h"

using lockstep::sim::called;

namespace {

constexpr std::size_t kPitch = 512;  // as GPUs align rows

struct Rows {
  std::size_t target_pitch, source_pitch, width, height;
};

cudaError_t check(const Rows& rows) {
  if (rows.width == 0 || rows.height == 0) return cudaSuccess;
  return rows.width > rows.target_pitch || rows.width > rows.source_pitch ? cudaErrorInvalidPitchValue : cudaSuccess;
}

// Rows without gaps are one copy.
template <typename Row>
cudaError_t each_row(const char* name, Rows rows, const Row& row) {
  if (const cudaError_t status = called(name, [&] { return check(rows); })) return status;
  if (rows.width == rows.target_pitch && rows.width == rows.source_pitch) {
    rows.width *= rows.height;
    rows.height = std::min<std::size_t>(rows.height, 1);
  }
  for (std::size_t y = 0; y < rows.height; ++y) {
    if (const cudaError_t status = row(y * rows.target_pitch, y * rows.source_pitch, rows.width)) return status;
  }
  return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t cudaMallocPitch(void** devPtr, size_t* pitch, size_t width, size_t height) {
  if (pitch == nullptr) return called(__func__, [] { return cudaErrorInvalidValue; });
  *pitch = (width + kPitch - 1) / kPitch * kPitch;
  return cudaMalloc(devPtr, *pitch * height);
}

cudaError_t cudaMemcpy2D(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height, enum cudaMemcpyKind kind) {
  return each_row(__func__, {dpitch, spitch, width, height}, [&](std::size_t to, std::size_t from, std::size_t bytes) {
    return cudaMemcpy(static_cast<char*>(dst) + to, static_cast<const char*>(src) + from, bytes, kind);
  });
}
cudaError_t cudaMemcpy2DAsync(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height,
                              enum cudaMemcpyKind kind, cudaStream_t stream) {
  return each_row(__func__, {dpitch, spitch, width, height}, [&](std::size_t to, std::size_t from, std::size_t bytes) {
    return cudaMemcpyAsync(static_cast<char*>(dst) + to, static_cast<const char*>(src) + from, bytes, kind, stream);
  });
}
cudaError_t cudaMemset2D(void* devPtr, size_t pitch, int value, size_t width, size_t height) {
  return each_row(__func__, {pitch, pitch, width, height}, [&](std::size_t to, std::size_t, std::size_t bytes) {
    return cudaMemset(static_cast<char*>(devPtr) + to, value, bytes);
  });
}
cudaError_t cudaMemset2DAsync(void* devPtr, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream) {
  return each_row(__func__, {pitch, pitch, width, height}, [&](std::size_t to, std::size_t, std::size_t bytes) {
    return cudaMemsetAsync(static_cast<char*>(devPtr) + to, value, bytes, stream);
  });
}
}
