// The 16-bit floating-point types under the names NCCL's reductions use.
#pragma once

#include "simulator/gpu/runtime/float16.h"

namespace lockstep::sim::nccl {

using sim::Bfloat16;
using sim::Float16;

}  // namespace lockstep::sim::nccl
