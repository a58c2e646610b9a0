// CUDA driver: names and explanations of its statuses. Where the runtime has the same number, the explanation is the runtime's.
#include <cuda.h>
#include <cuda_runtime.h>

namespace {

struct Named {
  CUresult status;
  const char* name;
  const char* text;  // null: the runtime's
};

#define LOCKSTEP_STATUS(status, text) \
  { status, #status, text }
constexpr Named kStatuses[] = {
    LOCKSTEP_STATUS(CUDA_SUCCESS, nullptr),
    LOCKSTEP_STATUS(CUDA_ERROR_INVALID_VALUE, nullptr),
    LOCKSTEP_STATUS(CUDA_ERROR_OUT_OF_MEMORY, nullptr),
    LOCKSTEP_STATUS(CUDA_ERROR_NOT_INITIALIZED, nullptr),
    LOCKSTEP_STATUS(CUDA_ERROR_DEINITIALIZED, nullptr),
    LOCKSTEP_STATUS(CUDA_ERROR_NO_DEVICE, nullptr),
    LOCKSTEP_STATUS(CUDA_ERROR_INVALID_DEVICE, nullptr),
    LOCKSTEP_STATUS(CUDA_ERROR_INVALID_IMAGE, nullptr),
    LOCKSTEP_STATUS(CUDA_ERROR_INVALID_CONTEXT, "invalid device context"),
    LOCKSTEP_STATUS(CUDA_ERROR_NO_BINARY_FOR_GPU, nullptr),
    LOCKSTEP_STATUS(CUDA_ERROR_INVALID_PTX, nullptr),
    LOCKSTEP_STATUS(CUDA_ERROR_INVALID_HANDLE, nullptr),
    LOCKSTEP_STATUS(CUDA_ERROR_NOT_FOUND, "named symbol not found"),
    LOCKSTEP_STATUS(CUDA_ERROR_NOT_READY, nullptr),
    LOCKSTEP_STATUS(CUDA_ERROR_ILLEGAL_ADDRESS, nullptr),
    LOCKSTEP_STATUS(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, nullptr),
    LOCKSTEP_STATUS(CUDA_ERROR_LAUNCH_TIMEOUT, nullptr),
    LOCKSTEP_STATUS(CUDA_ERROR_ASSERT, nullptr),
    LOCKSTEP_STATUS(CUDA_ERROR_MISALIGNED_ADDRESS, nullptr),
    LOCKSTEP_STATUS(CUDA_ERROR_LAUNCH_FAILED, nullptr),
    LOCKSTEP_STATUS(CUDA_ERROR_NOT_SUPPORTED, nullptr),
    LOCKSTEP_STATUS(CUDA_ERROR_UNKNOWN, nullptr),
};
#undef LOCKSTEP_STATUS

const Named* find(CUresult status) {
  for (const Named& known : kStatuses) {
    if (known.status == status) return &known;
  }
  return nullptr;
}

CUresult tell(const char** out, const char* text) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = text;
  return text == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult cuGetErrorName(CUresult error, const char** pStr) {
  const Named* const known = find(error);
  return tell(pStr, known == nullptr ? nullptr : known->name);
}

CUresult cuGetErrorString(CUresult error, const char** pStr) {
  const Named* const known = find(error);
  if (known == nullptr) return tell(pStr, nullptr);
  return tell(pStr, known->text != nullptr ? known->text : cudaGetErrorString(static_cast<cudaError_t>(error)));
}
}
