// How well the global-memory accesses of kernels coalesce: what NVIDIA's Nsight Compute calls sectors per request.
//
// Kernels that are compiled for it (`lockstep_counted_kernels`) report every access, by the calls that g++ inserts for its thread
// sanitizer; the sanitizer itself is not used. They are compiled with the helpers that nvcc gets (engine/cuda/backend), so the pattern is
// the GPU's: four neighbouring floats are one wide load. In faithful launches the accesses of a warp are put together again
// (warp_replay.h). For each request of a warp two numbers are counted: the 32-byte sectors that it touches, and the fewest that could hold
// what it asks for. Only views count, since a GPU keeps a thread's stack and __shared__ in other memory.
//
// Programs without such kernels are not affected. Launches in fast mode are not counted.
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

// The accesses through one argument of a kernel.
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
