// Arguments of a launch against the parameters of a kernel.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/nvrtc/kernel_signature.h"
#include "lockstep/cuda_kernel.h"

namespace lockstep {

// The bytes of a parameter that a number is passed for; a pointer's are filled in when memory is there.
struct BoundArgument {
  alignas(8) std::byte bytes[8] = {};
};

// Throws an Error, a sentence that names the kernel and the argument, where their number, kinds, element types or values do not fit.
std::vector<BoundArgument> bind_arguments(const KernelSignature& kernel, const std::vector<CudaArgument>& arguments);

}  // namespace lockstep
