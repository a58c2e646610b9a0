// A training step of each reference model with every access to global memory counted, and what is expected of the kernels in it.
//
// Batches are small, since every thread of every block is emulated; layers, and so rows and channels, are the real ones.
#pragma once

#include <string>
#include <vector>

#include "bench/workloads.h"
#include "simulator/gpu/coalescing/coalescing.h"
#include "simulator/gpu/runtime/control.h"

namespace lockstep::bench {

struct CountedStep {
  const char* workload;
  int replicas;
  std::int64_t batch;
};
inline constexpr CountedStep kCountedSteps[] = {{"mnist", 2, 32}, {"reuters", 2, 8}, {"mobilenet-v2-96", 1, 1}};

// A GPU can be split once; steps of one replica take the first half.
inline MirroredStrategy halves_of_a_gpu(int replicas) {
  static const std::vector<GpuId> halves = split_gpu(0, {7500, 7500});
  return MirroredStrategy(std::vector<GpuId>(halves.begin(), halves.begin() + replicas));
}

inline coalescing::Counts count_step(const CountedStep& step) {
  const Workload what = find_workload(step.workload);
  const Array x = inputs(what, step.batch), y = labels(what, step.batch);
  const sim::KernelMode before = sim::kernel_mode();
  sim::set_kernel_mode(sim::KernelMode::faithful);
  coalescing::Counts counts;
  {
    coalescing::Counter counter;
    const MirroredStrategy strategy = halves_of_a_gpu(step.replicas);
    Model model = strategy.scope([&] { return what.make(); });
    model.train_on_batch(x, y);
    counts = counter.take();
  }
  sim::set_kernel_mode(before);
  return counts;
}

// Sectors that must hold what is asked for, over sectors that are touched, in a kernel that has no excuse.
inline constexpr double kExpectedEfficiency = 0.8;

// Kernels that stay below, with what they reach and why that is so.
struct Excuse {
  const char* kernel;
  double efficiency;
  const char* reason;
};
inline constexpr Excuse kExcuses[] = {
    {"add_correct", 0.3, "a thread reads the scores of a sample, a row away from its neighbour's; all of them are a few kilobytes"},
    {"add_in_top_k", 0.25, "as add_correct"},
    {"embedding_lookup", 0.6, "rows of 7 floats lie anywhere in the table, and 28 bytes mostly in two sectors; stores are side by side"},
    {"add_rows", 0.45, "rows of 7 floats, read and written where they are: 28 bytes, mostly in two sectors"},
    {"copy_rows", 0.45, "as add_rows"},
    {"convolution_pooling", 0.3, "a warp's windows are two pixels apart, and it reads a float of each; the next turns want the rest"},
    {"convolution_pooling_gradient", 0.65, "a warp has several chunks of samples, and reads a pixel of each; the rest is side by side"},
    {"sequence_input_gradient", 0.2,
     "a warp's steps are a row of filters apart, and it reads a float of each; the next turns want the rest"},
};

inline const Excuse* excuse_of(const std::string& kernel) {
  for (const Excuse& excuse : kExcuses)
    if (kernel == excuse.kernel) return &excuse;
  return nullptr;
}

}  // namespace lockstep::bench
