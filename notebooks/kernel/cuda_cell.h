// %%cuda: a cell of CUDA C++. Its kernels are compiled when the cell runs, and later cells launch them by their names.
#pragma once

#include <string>
#include <vector>

namespace lockstep::kernel {

// Kernels that the source defines, in its order; templates are left out, since they have no one meaning.
std::vector<std::string> kernels_in(const std::string& source);

// The C++ cell in place of it: a lockstep::CudaKernel for each kernel. `lines_before` are those of the cell before `source`, so that errors
// name the cell's lines. Empty where the source has no kernel.
std::string cuda_cell(const std::string& source, int lines_before, const std::vector<std::string>& compiler_options);

}  // namespace lockstep::kernel
