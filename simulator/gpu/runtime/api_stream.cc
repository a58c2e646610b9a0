// CUDA runtime: streams, events and functions of the host.
#include <cmath>

#include "simulator/gpu/runtime/model_clock.h"
#include "simulator/gpu/runtime/runtime.h"

using namespace lockstep::sim;

namespace {

cudaError_t create_stream(cudaStream_t* out, unsigned flags) {
  if (const cudaError_t status = ready_to_use_device()) return status;
  if (out == nullptr || (flags & ~unsigned{cudaStreamNonBlocking}) != 0) return cudaErrorInvalidValue;
  *out = runtime().executor.create_stream(current_device(), flags);
  return cudaSuccess;
}

cudaError_t destroy_stream(cudaStream_t stream) {
  if (const cudaError_t status = ready_to_call()) return status;
  if (stream == cudaStreamLegacy || stream == nullptr || !runtime().executor.valid(stream)) return cudaErrorInvalidResourceHandle;
  if (stream->legacy) return cudaErrorInvalidResourceHandle;
  const int device = stream->device;
  if (runtime().captures.any()) runtime().captures.forget(stream);
  runtime().executor.destroy_stream(stream);
  return runtime().executor.error(device);
}

// Runs `use(stream)` for a valid handle, and puts the sticky error of the stream's device first.
template <typename Use>
cudaError_t with_stream(cudaStream_t handle, const Use& use) {
  if (const cudaError_t status = ready_to_call()) return status;
  Stream* const stream = stream_behind(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (const cudaError_t status = runtime().executor.error(stream->device)) return status;
  return use(stream);
}

// The same for calls that ask how far the stream is, which is not defined while it captures.
template <typename Use>
cudaError_t with_running_stream(cudaStream_t handle, const Use& use) {
  return with_stream(handle, [&](Stream* stream) {
    if (runtime().captures.any()) {
      if (const cudaError_t status = runtime().captures.refuse(stream)) return status;
    }
    return use(stream);
  });
}

template <typename Use>
cudaError_t with_event(cudaEvent_t event, const Use& use) {
  if (const cudaError_t status = ready_to_call()) return status;
  if (!runtime().executor.valid(event)) return cudaErrorInvalidResourceHandle;
  if (const cudaError_t status = runtime().executor.error(event->device)) return status;
  return use();
}

// The same for calls that ask whether the event has happened.
template <typename Use>
cudaError_t with_real_event(cudaEvent_t event, const Use& use) {
  return with_event(event, [&] {
    if (runtime().captures.any_event()) {
      if (const cudaError_t status = runtime().captures.refuse_event(event)) return status;
    }
    return use();
  });
}

cudaError_t record(cudaEvent_t event, Stream* stream) {
  if (stream->device != event->device) return cudaErrorInvalidResourceHandle;
  Captures& captures = runtime().captures;
  if (captures.any()) {
    cudaError_t status = cudaSuccess;
    if (captures.record(event, stream, &status)) return status;
    if (stream->legacy) {
      if (const cudaError_t refused = captures.refuse_legacy(stream)) return refused;
    }
  }
  if (captures.any_event()) captures.forget(event);
  runtime().executor.record(event, stream);
  return cudaSuccess;
}

cudaError_t wait_for(Stream* stream, cudaEvent_t event, unsigned flags) {
  if (flags != cudaEventWaitDefault) return cudaErrorInvalidValue;
  Captures& captures = runtime().captures;
  if (captures.any() || captures.any_event()) {
    cudaError_t status = cudaSuccess;
    if (captures.wait(stream, event, &status)) return status;
    if (stream->legacy) {
      if (const cudaError_t refused = captures.refuse_legacy(stream)) return refused;
    }
  }
  runtime().executor.wait_event(stream, event);
  return cudaSuccess;
}

cudaError_t call_host(cudaStream_t stream, cudaHostFn_t fn, void* data) {
  if (const cudaError_t status = ready_to_call()) return status;
  if (fn == nullptr) return cudaErrorInvalidValue;
  Operation operation;
  operation.kind = OperationKind::host_function;
  operation.name = "host function";
  operation.run = [fn, data](int) { fn(data); };
  return enqueue(stream, std::move(operation));
}

cudaError_t destroy_event(cudaEvent_t event) {
  if (const cudaError_t status = ready_to_call()) return status;
  if (!runtime().executor.valid(event)) return cudaErrorInvalidResourceHandle;
  if (runtime().captures.any_event()) runtime().captures.forget(event);
  runtime().executor.destroy_event(event);
  return cudaSuccess;
}

cudaError_t create_event(cudaEvent_t* out, unsigned flags) {
  if (const cudaError_t status = ready_to_use_device()) return status;
  constexpr unsigned kKnown = cudaEventBlockingSync | cudaEventDisableTiming;
  if (out == nullptr || (flags & ~kKnown) != 0) return cudaErrorInvalidValue;
  *out = runtime().executor.create_event(current_device(), flags);
  return cudaSuccess;
}

cudaError_t elapsed(float* ms, cudaEvent_t start, cudaEvent_t end) {
  if (const cudaError_t status = ready_to_call()) return status;
  if (ms == nullptr) return cudaErrorInvalidValue;
  Executor& executor = runtime().executor;
  if (!executor.valid(start) || !executor.valid(end) || start->device != end->device) return cudaErrorInvalidResourceHandle;
  if (const cudaError_t status = executor.error(start->device)) return status;
  if (Captures& captures = runtime().captures; captures.any_event()) {
    for (const cudaEvent_t event : {start, end}) {
      if (const cudaError_t status = captures.refuse_event(event)) return status;
    }
  }
  if (((start->flags | end->flags) & cudaEventDisableTiming) != 0) return cudaErrorInvalidResourceHandle;
  const auto first = executor.last_record(start).moment, second = executor.last_record(end).moment;
  if (first.stream == nullptr || second.stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (!executor.has_passed(first) || !executor.has_passed(second)) return cudaErrorNotReady;
  std::int64_t ns = executor.last_record(end).time_ns - executor.last_record(start).time_ns;
  if (ModelClock* const model = model_clock()) ns = model->ns_of(end) - model->ns_of(start);
  *ms = static_cast<float>(static_cast<double>(ns) * 1e-6);
  return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t cudaStreamCreate(cudaStream_t* pStream) {
  return called(__func__, [&] { return create_stream(pStream, cudaStreamDefault); });
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* pStream, unsigned int flags) {
  return called(__func__, [&] { return create_stream(pStream, flags); });
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* pStream, unsigned int flags, int) {
  return called(__func__, [&] { return create_stream(pStream, flags); });
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return called(__func__, [&] { return destroy_stream(stream); });
}

cudaError_t cudaStreamGetFlags(cudaStream_t hStream, unsigned int* flags) {
  return called(__func__, [&] {
    return with_stream(hStream, [&](Stream* stream) {
      if (flags == nullptr) return cudaErrorInvalidValue;
      *flags = stream->flags;
      return cudaSuccess;
    });
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return called(__func__, [&] {
    return with_running_stream(stream, [](Stream* behind) {
      const int device = behind->device;
      runtime().executor.wait_stream(behind);
      return runtime().executor.error(device);
    });
  });
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return called(__func__, [&] {
    return with_running_stream(stream, [](Stream* behind) {
      const bool done = runtime().executor.is_idle(behind);
      if (const cudaError_t status = runtime().executor.error(behind->device)) return status;
      return done ? cudaSuccess : cudaErrorNotReady;
    });
  });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags) {
  return called(__func__, [&] {
    return with_event(event, [&] { return with_stream(stream, [&](Stream* behind) { return wait_for(behind, event, flags); }); });
  });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void* userData) {
  return called(__func__, [&] { return call_host(stream, fn, userData); });
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return called(__func__, [&] { return create_event(event, cudaEventDefault); });
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  return called(__func__, [&] { return create_event(event, flags); });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return called(__func__, [&] {
    return with_event(event, [&] { return with_stream(stream, [&](Stream* behind) { return record(event, behind); }); });
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return called(__func__, [&] {
    return with_real_event(event, [&] {
      Executor& executor = runtime().executor;
      const int device = event->device;
      const Moment moment = executor.last_record(event).moment;
      if (moment.stream != nullptr) executor.wait(moment);
      return executor.error(device);
    });
  });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return called(__func__, [&] {
    return with_real_event(event, [&] {
      Executor& executor = runtime().executor;
      if (runtime().captures.any()) {
        if (const cudaError_t status = runtime().captures.refuse_unsafe()) return status;
      }
      const bool done = executor.has_passed(executor.last_record(event).moment);
      if (const cudaError_t status = executor.error(event->device)) return status;
      return done ? cudaSuccess : cudaErrorNotReady;
    });
  });
}

cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t start, cudaEvent_t end) {
  return called(__func__, [&] { return elapsed(ms, start, end); });
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return called(__func__, [&] { return destroy_event(event); });
}
}
