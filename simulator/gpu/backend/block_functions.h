// Functions for the threads of a block that nvcc has built in: barriers and shuffles.
#pragma once

#include <cstdint>
#include <cstring>

#include <backend/context.h>

// All threads of the block wait for each other here. File and line identify the barrier.
inline void __syncthreads(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (auto* threads = lockstep::sim::kernel_context.threads) threads->barrier(file, line);
}

// A warp is 32 neighbouring threads of a block; in fast mode it has one thread, and a shuffle gives back one's own value.
inline void __syncwarp(unsigned mask = 0xffffffffU, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (auto* threads = lockstep::sim::kernel_context.threads) threads->warp_barrier(mask, file, line);
}

namespace lockstep::sim {

template <typename T>
T shuffle(unsigned mask, T value, int source, int own, const char* file, int line) {
  static_assert(sizeof(T) <= 8, "shuffles move values of at most 8 bytes");
  BlockThreads* const threads = kernel_context.threads;
  if (threads == nullptr) return value;
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = threads->shuffle(mask, bits, source < 0 ? own : source, file, line);
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

inline int lane() { return static_cast<int>(kernel_context.thread % warpSize); }

}  // namespace lockstep::sim

template <typename T>
T __shfl_sync(unsigned mask, T value, int source, int width = warpSize, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  const int lane = lockstep::sim::lane();
  return lockstep::sim::shuffle(mask, value, (lane & ~(width - 1)) + (source & (width - 1)), lane, file, line);
}
template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = warpSize, const char* file = __builtin_FILE(),
                   int line = __builtin_LINE()) {
  const int lane = lockstep::sim::lane();
  const int within = (lane & (width - 1)) + static_cast<int>(delta);
  return lockstep::sim::shuffle(mask, value, within < width ? lane + static_cast<int>(delta) : -1, lane, file, line);
}
template <typename T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = warpSize, const char* file = __builtin_FILE(),
                 int line = __builtin_LINE()) {
  const int lane = lockstep::sim::lane();
  const int within = (lane & (width - 1)) - static_cast<int>(delta);
  return lockstep::sim::shuffle(mask, value, within >= 0 ? lane - static_cast<int>(delta) : -1, lane, file, line);
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = warpSize, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE()) {
  const int lane = lockstep::sim::lane();
  const int source = lane ^ lane_mask;
  return lockstep::sim::shuffle(mask, value, (source & ~(width - 1)) <= (lane & ~(width - 1)) ? source : -1, lane, file, line);
}
