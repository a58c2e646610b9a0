// A logical GPU: a physical GPU, a memory limit with its arena, streams and library handles of its own.
//
// Made by splitting one physical GPU, real or virtual; a whole GPU is a split into one.
#pragma once

#include <cublasLt.h>
#include <cudnn.h>

#include <memory>
#include <string>

#include "engine/device/stream.h"
#include "lockstep/logical.h"
#include "simulator/logical/arena.h"
#include "simulator/logical/gpu_registry.h"

namespace lockstep {

class LogicalGpu {
 public:
  // While one of its logical GPUs exists the physical GPU counts as in use: split_gpu refuses it. Several objects of one id share
  // one arena and so one limit.
  explicit LogicalGpu(const GpuId& id);
  ~LogicalGpu();
  LogicalGpu(const LogicalGpu&) = delete;
  LogicalGpu& operator=(const LogicalGpu&) = delete;

  const GpuId& id() const { return id_; }
  std::string name() const { return id_.name(); }
  int physical() const { return id_.physical; }
  Arena& arena() { return arena_; }
  Stream& compute() { return compute_; }              // forward, backward, update
  Stream& communication() { return communication_; }  // all-reduce beside backward
  cublasLtHandle_t blas();                            // made at first use
  cudnnHandle_t dnn();                                // made at first use, bound to the compute stream

 private:
  struct Handles;
  std::shared_ptr<const GpuClaim> claim_;
  GpuId id_;
  Arena arena_;
  Stream compute_;
  Stream communication_;
  std::unique_ptr<Handles> handles_;
};

}  // namespace lockstep
