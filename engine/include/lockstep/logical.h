// GPUs as a program sees them: physical ones, and logical ones split from a physical one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

// Names one place a replica can live. `logical` is -1 for a whole physical GPU.
struct GpuId {
  int physical = 0;
  int logical = -1;
  std::int64_t memory_limit_mib = 0;  // 0: all of it

  std::string name() const;  // "/gpu:0" or "/gpu:0/logical:1"
};

// Every physical GPU, real or virtual.
std::vector<GpuId> list_gpus();

// What a physical GPU is.
struct GpuDescription {
  GpuId id;
  std::string model;            // "NVIDIA A100-SXM4-40GB", or "Virtual T4"
  std::int64_t memory_mib = 0;  // all of it
  std::int64_t free_mib = 0;
  int multiprocessors = 0;
  std::vector<GpuId> logical;  // what it was split into
};
GpuDescription describe_gpu(int physical);

// Splits a physical GPU into logical ones with a memory limit (MiB) each. An error once that GPU is in use, when it was
// split in another way before, or when the limits add up to more than it has.
std::vector<GpuId> split_gpu(int physical, const std::vector<std::int64_t>& limits_mib);

// "/gpu:1", "gpu:1" or "1".
GpuId parse_gpu(const std::string& name);

}  // namespace lockstep
