// A training step of each reference model from nvcc's PTX, with every warp instruction counted, and what is expected of the kernels in it.
//
// Batches are small, since all threads of all blocks are run; layers, and so rows and channels, are the real ones.
#pragma once

#include <cxxabi.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <string>

#include "bench/workloads.h"
#include "simulator/gpu/ptx/counts.h"
#include "tests/simulator/gpu/ptx/support/launch_from_ptx.h"

namespace lockstep::bench {

struct CountedStep {
  const char* workload;
  int replicas;
  std::int64_t batch;
};
inline constexpr CountedStep kCountedSteps[] = {{"mnist", 2, 32}, {"reuters", 2, 8}, {"mobilenet-v2-96", 1, 1}};

inline const CountedStep* find_counted_step(const std::string& workload) {
  for (const CountedStep& step : kCountedSteps)
    if (workload == step.workload) return &step;
  return nullptr;
}

// A GPU can be split once; steps of one replica take the first half.
inline MirroredStrategy halves_of_a_gpu(int replicas) {
  static const std::vector<GpuId> halves = split_gpu(0, {7500, 7500});
  return MirroredStrategy(std::vector<GpuId>(halves.begin(), halves.begin() + replicas));
}

// "adam" of the mangled "lockstep::kernels::adam(...)".
inline std::string readable_kernel(const std::string& mangled) {
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, nullptr), &std::free);
  std::string name = text != nullptr ? text.get() : mangled;
  name.resize(std::min(name.find_first_of("(<"), name.size()));
  return name.substr(name.rfind(':') + 1);
}

// What kernels of these modules did. A kernel that is instantiated for several types is one kernel here.
inline std::map<std::string, ptx::Count> by_kernel(const sim::PtxModules& modules, const ptx::Counts& counts) {
  std::map<std::string, ptx::Count> all;
  for (const std::string& mangled : modules.names()) {
    const ptx::Count count = counts.of(modules.kernel(mangled).code());
    if (count.instructions > 0) all[readable_kernel(mangled)] += count;
  }
  return all;
}

class WarpCounts {
 public:
  explicit WarpCounts(const CountedStep& step) : modules_(testing::kernel_modules(&counts_)) {
    const Workload what = find_workload(step.workload);
    const Array x = inputs(what, step.batch), y = labels(what, step.batch);
    const testing::LaunchFromPtx from_ptx(modules_);
    const MirroredStrategy strategy = halves_of_a_gpu(step.replicas);
    Model model = strategy.scope([&] { return what.make(); });
    model.train_on_batch(x, y);
  }

  std::map<std::string, ptx::Count> by_kernel() const { return bench::by_kernel(*modules_, counts_); }
  std::vector<ptx::Counts::SourceLine> by_line(const std::string& kernel) const {
    std::vector<ptx::Counts::SourceLine> all;
    for (const std::string& mangled : modules_->names()) {
      if (readable_kernel(mangled) != kernel) continue;
      const sim::PtxKernel& found = modules_->kernel(mangled);
      for (auto& line : counts_.by_line(found.module(), found.code())) all.push_back(std::move(line));
    }
    return all;
  }

 private:
  ptx::Counts counts_;
  std::shared_ptr<const sim::PtxModules> modules_;
};

// Sectors that could hold what is asked for, over sectors that are touched.
inline double efficiency(const ptx::Count& count) {
  return count.sectors == 0 ? 1 : static_cast<double>(count.fewest) / static_cast<double>(count.sectors);
}
inline constexpr double kExpectedEfficiency = 0.8;  // of a kernel that has no excuse

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
    {"depthwise_backward_filter", 0.55, "its sums are in global memory, and nvcc stores four neighbouring floats of a thread one by one"},
    {"sequence_input_gradient", 0.2,
     "a warp's steps are a row of filters apart, and it reads a float of each; the next turns want the rest"},
};

inline const Excuse* excuse_of(const std::string& kernel) {
  for (const Excuse& excuse : kExcuses)
    if (kernel == excuse.kernel) return &excuse;
  return nullptr;
}

}  // namespace lockstep::bench
