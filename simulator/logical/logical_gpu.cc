// Streams and library handles of one logical GPU.
#include "simulator/logical/logical_gpu.h"

#include <mutex>

#include "engine/device/check.h"

namespace lockstep {

struct LogicalGpu::Handles {
  std::once_flag blas_once, dnn_once;
  cublasLtHandle_t blas = nullptr;
  cudnnHandle_t dnn = nullptr;

  Handles() = default;
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;
  ~Handles() {
    if (dnn != nullptr) static_cast<void>(cudnnDestroy(dnn));
    if (blas != nullptr) static_cast<void>(cublasLtDestroy(blas));
  }
};

LogicalGpu::LogicalGpu(const GpuId& id)
    : claim_(claim_gpu(id)),
      id_(claim_->id),
      arena_(claim_->arena),
      compute_(id_.physical),
      communication_(id_.physical),
      handles_(std::make_unique<Handles>()) {}

LogicalGpu::~LogicalGpu() {
  // Library handles must not go while their work is queued.
  static_cast<void>(cudaStreamSynchronize(compute_.get()));
  static_cast<void>(cudaStreamSynchronize(communication_.get()));
}

cublasLtHandle_t LogicalGpu::blas() {
  std::call_once(handles_->blas_once, [this] {
    const DeviceGuard guard(physical());
    LOCKSTEP_CHECK(cublasLtCreate(&handles_->blas));
  });
  return handles_->blas;
}

cudnnHandle_t LogicalGpu::dnn() {
  std::call_once(handles_->dnn_once, [this] {
    const DeviceGuard guard(physical());
    LOCKSTEP_CHECK(cudnnCreate(&handles_->dnn));
    LOCKSTEP_CHECK(cudnnSetStream(handles_->dnn, compute_.get()));
  });
  return handles_->dnn;
}

}  // namespace lockstep
