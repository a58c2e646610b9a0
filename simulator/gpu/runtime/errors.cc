// Names and explanations of the statuses.
#include <cuda_runtime.h>

namespace {

struct Described {
  cudaError_t status;
  const char* name;
  const char* text;
};

#define LOCKSTEP_STATUS(status, text) \
  { status, #status, text }
constexpr Described kStatuses[] = {
    LOCKSTEP_STATUS(cudaSuccess, "no error"),
    LOCKSTEP_STATUS(cudaErrorInvalidValue, "invalid argument"),
    LOCKSTEP_STATUS(cudaErrorMemoryAllocation, "out of memory"),
    LOCKSTEP_STATUS(cudaErrorInitializationError, "initialization error"),
    LOCKSTEP_STATUS(cudaErrorCudartUnloading, "driver shutting down"),
    LOCKSTEP_STATUS(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    LOCKSTEP_STATUS(cudaErrorInvalidPitchValue, "invalid pitch argument"),
    LOCKSTEP_STATUS(cudaErrorInvalidSymbol, "invalid device symbol"),
    LOCKSTEP_STATUS(cudaErrorInvalidHostPointer, "invalid host pointer"),
    LOCKSTEP_STATUS(cudaErrorInvalidDevicePointer, "invalid device pointer"),
    LOCKSTEP_STATUS(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    LOCKSTEP_STATUS(cudaErrorInsufficientDriver, "CUDA driver version is insufficient for CUDA runtime version"),
    LOCKSTEP_STATUS(cudaErrorMissingConfiguration, "__global__ function call is not configured"),
    LOCKSTEP_STATUS(cudaErrorInvalidDeviceFunction, "invalid device function"),
    LOCKSTEP_STATUS(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    LOCKSTEP_STATUS(cudaErrorInvalidDevice, "invalid device ordinal"),
    LOCKSTEP_STATUS(cudaErrorInvalidKernelImage, "device kernel image is invalid"),
    LOCKSTEP_STATUS(cudaErrorNoKernelImageForDevice, "no kernel image is available for execution on the device"),
    LOCKSTEP_STATUS(cudaErrorPeerAccessUnsupported, "peer access is not supported between these two devices"),
    LOCKSTEP_STATUS(cudaErrorInvalidPtx, "a PTX JIT compilation failed"),
    LOCKSTEP_STATUS(cudaErrorOperatingSystem, "OS call failed or operation not supported on this OS"),
    LOCKSTEP_STATUS(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    LOCKSTEP_STATUS(cudaErrorIllegalState, "the operation cannot be performed in the present state"),
    LOCKSTEP_STATUS(cudaErrorNotReady, "device not ready"),
    LOCKSTEP_STATUS(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    LOCKSTEP_STATUS(cudaErrorLaunchOutOfResources, "too many resources requested for launch"),
    LOCKSTEP_STATUS(cudaErrorLaunchTimeout, "the launch timed out and was terminated"),
    LOCKSTEP_STATUS(cudaErrorPeerAccessAlreadyEnabled, "peer access is already enabled"),
    LOCKSTEP_STATUS(cudaErrorPeerAccessNotEnabled, "peer access has not been enabled"),
    LOCKSTEP_STATUS(cudaErrorAssert, "device-side assert triggered"),
    LOCKSTEP_STATUS(cudaErrorHostMemoryAlreadyRegistered, "part or all of the requested memory range is already mapped"),
    LOCKSTEP_STATUS(cudaErrorHostMemoryNotRegistered, "pointer does not correspond to a registered memory region"),
    LOCKSTEP_STATUS(cudaErrorMisalignedAddress, "misaligned address"),
    LOCKSTEP_STATUS(cudaErrorLaunchFailure, "unspecified launch failure"),
    LOCKSTEP_STATUS(cudaErrorNotPermitted, "operation not permitted"),
    LOCKSTEP_STATUS(cudaErrorNotSupported, "operation not supported"),
    LOCKSTEP_STATUS(cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing"),
    LOCKSTEP_STATUS(cudaErrorStreamCaptureInvalidated, "operation failed due to a previous error during capture"),
    LOCKSTEP_STATUS(cudaErrorStreamCaptureMerge, "operation would result in a merge of separate capture sequences"),
    LOCKSTEP_STATUS(cudaErrorStreamCaptureUnmatched, "capture was not ended in the same stream as it began"),
    LOCKSTEP_STATUS(cudaErrorStreamCaptureUnjoined, "capturing stream has unjoined work"),
    LOCKSTEP_STATUS(cudaErrorStreamCaptureIsolation, "dependency created on uncaptured work in another stream"),
    LOCKSTEP_STATUS(cudaErrorStreamCaptureImplicit, "operation would make the legacy stream depend on a capturing blocking stream"),
    LOCKSTEP_STATUS(cudaErrorCapturedEvent, "operation not permitted on an event last recorded in a capturing stream"),
    LOCKSTEP_STATUS(cudaErrorStreamCaptureWrongThread, "attempt to terminate a thread-local capture sequence from another thread"),
    LOCKSTEP_STATUS(cudaErrorTimeout, "wait operation timed out"),
    LOCKSTEP_STATUS(cudaErrorUnknown, "unknown error"),
};
#undef LOCKSTEP_STATUS

const Described* find(cudaError_t status) {
  for (const Described& known : kStatuses) {
    if (known.status == status) return &known;
  }
  return nullptr;
}

}  // namespace

extern "C" {

const char* cudaGetErrorName(cudaError_t error) {
  const Described* const known = find(error);
  return known != nullptr ? known->name : "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t error) {
  const Described* const known = find(error);
  return known != nullptr ? known->text : "unrecognized error code";
}
}
