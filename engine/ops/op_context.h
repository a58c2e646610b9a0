// Where an operation runs: a logical GPU, one of its streams, and scratch memory that was planned for it.
#pragma once

#include "engine/tensor/tensor.h"
#include "simulator/logical/logical_gpu.h"

namespace lockstep {

struct OpContext {
  LogicalGpu* gpu = nullptr;
  Stream* stream = nullptr;  // usually gpu->compute()
  Tensor scratch;            // bytes an op asked for when it was planned; shared by all ops of a stream, one after the other
};

}  // namespace lockstep
