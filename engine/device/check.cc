// Turning a library's status into an Error with a place and, where we know one, a hint.
#include "engine/device/check.h"

#include <string>

#include "lockstep/error.h"

namespace lockstep {

namespace {

[[noreturn]] void raise(const std::string& library, const std::string& status, const std::string& explanation, const char* call,
                        const char* file, int line, const std::string& hint) {
  std::string place(file);
  if (const auto slash = place.rfind('/'); slash != std::string::npos) place.erase(0, slash + 1);
  std::string text = library + " refused `" + call + "` with " + status;
  if (!explanation.empty() && explanation != status) text += " (" + explanation + ")";
  text += " at " + place + ":" + std::to_string(line) + ".";
  if (!hint.empty()) text += " " + hint;
  throw Error(text);
}

std::string hint_for(cudaError_t status) {
  switch (status) {
    case cudaErrorMemoryAllocation:
      return "The GPU is full: use a smaller batch, fewer replicas on this GPU, or stop other programs on it.";
    case cudaErrorNoDevice:
      return "No GPU was found: is one visible (CUDA_VISIBLE_DEVICES)?";
    case cudaErrorInsufficientDriver:
      return "The driver is older than the CUDA runtime: update the driver, or build with the preset `sim` to run without a GPU.";
    case cudaErrorIllegalAddress:
      return "A kernel touched memory that is not its own; every later call on this GPU fails too. Run with checks to find the first one.";
    default:
      return "";
  }
}

}  // namespace

void fail(cudaError_t status, const char* call, const char* file, int line) {
  static_cast<void>(cudaGetLastError());  // clears an error that is not sticky
  raise("CUDA", cudaGetErrorName(status), cudaGetErrorString(status), call, file, line, hint_for(status));
}

void fail(cublasStatus_t status, const char* call, const char* file, int line) {
  raise("cuBLASLt", cublasLtGetStatusName(status), cublasLtGetStatusString(status), call, file, line, "");
}

void fail(cudnnStatus_t status, const char* call, const char* file, int line) {
  char detail[512] = {};
  cudnnGetLastErrorString(detail, sizeof detail);
  raise("cuDNN", cudnnGetErrorString(status), detail, call, file, line, "");
}

void fail(ncclResult_t status, const char* call, const char* file, int line) {
  raise("NCCL", ncclGetErrorString(status), "", call, file, line, "Set NCCL_DEBUG=INFO for more from NCCL.");
}

}  // namespace lockstep
