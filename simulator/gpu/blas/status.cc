// Versions and the words for statuses.
#include <cublasLt.h>

namespace {

struct Words {
  const char* name;
  const char* meaning;
};

Words words(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return {"CUBLAS_STATUS_SUCCESS", "all went well"};
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return {"CUBLAS_STATUS_NOT_INITIALIZED", "there is no library handle"};
    case CUBLAS_STATUS_ALLOC_FAILED:
      return {"CUBLAS_STATUS_ALLOC_FAILED", "memory could not be allocated"};
    case CUBLAS_STATUS_INVALID_VALUE:
      return {"CUBLAS_STATUS_INVALID_VALUE", "an argument is missing, impossible, or contradicts another"};
    case CUBLAS_STATUS_ARCH_MISMATCH:
      return {"CUBLAS_STATUS_ARCH_MISMATCH", "the device lacks a feature that this needs"};
    case CUBLAS_STATUS_MAPPING_ERROR:
      return {"CUBLAS_STATUS_MAPPING_ERROR", "device memory could not be reached"};
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return {"CUBLAS_STATUS_EXECUTION_FAILED", "the operation could not be put on the stream"};
    case CUBLAS_STATUS_INTERNAL_ERROR:
      return {"CUBLAS_STATUS_INTERNAL_ERROR", "something failed inside the library"};
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return {"CUBLAS_STATUS_NOT_SUPPORTED", "no kernel computes what was asked for"};
    case CUBLAS_STATUS_LICENSE_ERROR:
      return {"CUBLAS_STATUS_LICENSE_ERROR", "the license was refused"};
  }
  return {"unrecognized status", "unrecognized status"};
}

}  // namespace

const char* cublasLtGetStatusName(cublasStatus_t status) { return words(status).name; }
const char* cublasLtGetStatusString(cublasStatus_t status) { return words(status).meaning; }
size_t cublasLtGetVersion() { return CUBLAS_VERSION; }
size_t cublasLtGetCudartVersion() {
  int version = 0;
  return cudaRuntimeGetVersion(&version) == cudaSuccess ? static_cast<size_t>(version) : 0;
}
