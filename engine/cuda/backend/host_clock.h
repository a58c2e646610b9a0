// CUDA twin of simulator/gpu/backend/host_clock.h: real GPUs keep the wall's time, and their events know only the time between themselves.
#pragma once

#include <cuda_runtime.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace lockstep {

inline bool host_clock_is_modelled() { return false; }
inline std::int64_t host_clock_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
inline void host_clock_post(const void* /*where*/) {}
inline void host_clock_meet(const void* /*where*/) {}
inline void host_clock_settle() {}
inline void host_clock_copy(void* to, const void* from, std::size_t bytes, cudaStream_t /*stream*/) { std::memcpy(to, from, bytes); }
inline bool event_clock_ns(cudaEvent_t /*event*/, std::int64_t* /*ns*/) { return false; }

}  // namespace lockstep
