// How well the global-memory accesses of kernels coalesce: what NVIDIA's Nsight Compute calls sectors per request.
//
// Kernels that are compiled for it (`lockstep_counted_kernels`) tell of every access, by the calls that g++ puts in for its thread
// sanitizer, of which none but the calls is used. They are compiled with the helpers that nvcc gets (engine/cuda/backend), so the pattern
// is the GPU's: four neighbouring floats are one wide load. Launched faithfully, each warp's accesses are put together again
// (warp_replay.h), and for each request of a warp the 32-byte sectors that it touches are counted, beside the least that could hold what it
// asks for. Only memory that a kernel was given as a view counts: what lies on a thread's stack or in __shared__ is elsewhere on a GPU.
//
// Programs without such kernels have nothing of this; with them, what isn't launched faithfully isn't counted.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "simulator/gpu/coalescing/warp_replay.h"
#include "simulator/gpu/runtime/block_runner.h"

namespace lockstep::coalescing {

struct Count {
  std::uint64_t requests = 0, lanes = 0, sectors = 0, least = 0;

  void add(const Request& request);
  Count& operator+=(const Count& more);
  double sectors_per_request() const { return requests > 0 ? static_cast<double>(sectors) / static_cast<double>(requests) : 0; }
  double lanes_per_request() const { return requests > 0 ? static_cast<double>(lanes) / static_cast<double>(requests) : 0; }
  double efficiency() const { return sectors > 0 ? static_cast<double>(least) / static_cast<double>(sectors) : 1; }
};

// What is told of one argument of a kernel.
struct ArgumentCount {
  Count loads, stores;
};

struct KernelCount {
  std::uint64_t blocks = 0;
  std::map<int, ArgumentCount> arguments;  // by number, from 0
  Count loads() const;
  Count stores() const;
  Count all() const;
};

using Counts = std::map<std::string, KernelCount>;  // by the name that the launch gave

// Counts from its beginning to its end. There may be one at a time, and no kernel may run at either.
class Counter final : public sim::BlockObserver {
 public:
  Counter();
  ~Counter() override;
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;

  Counts take();  // waits for all devices

  void begin_block(const sim::KernelCall& call) override;
  void all_stopped() override;
  void end_block() override;

 private:
  std::mutex mutex_;
  Counts counts_;
};

}  // namespace lockstep::coalescing
