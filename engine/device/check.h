// The boundary to NVIDIA's libraries: a status that is not success becomes an Error that carries the call's text, the
// status' name, the place and, where we know one, a hint.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime.h>
#include <cudnn.h>
#include <nccl.h>

namespace lockstep {

[[noreturn]] void fail(cudaError_t status, const char* call, const char* file, int line);
[[noreturn]] void fail(cublasStatus_t status, const char* call, const char* file, int line);
[[noreturn]] void fail(cudnnStatus_t status, const char* call, const char* file, int line);
[[noreturn]] void fail(ncclResult_t status, const char* call, const char* file, int line);

template <typename Status>
void check_call(Status status, const char* call, const char* file, int line) {
  if (status != Status{}) fail(status, call, file, line);  // success is 0 in all four libraries
}

}  // namespace lockstep

#define LOCKSTEP_CHECK(call) ::lockstep::check_call((call), #call, __FILE__, __LINE__)
