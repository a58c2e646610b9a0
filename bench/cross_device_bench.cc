// Which all-reduce is the fastest among logical GPUs of one card: every algorithm on 2 to 8 replicas, small to large buckets, interleaved
// in one run (A B C D A B C D ...), medians. Each replica has a buffer of its own and gets the sum; docs/algorithms.md has the figures; the
// last column is the proof that the sums were right. Ratios are to the fastest of the row.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "engine/distribute/collectives/cross_device_ops.h"
#include "engine/ops/elementwise.h"
#include "lockstep/logical.h"

namespace {

using Clock = std::chrono::steady_clock;
using lockstep::Buffer;
using lockstep::LogicalGpu;
using lockstep::Tensor;

constexpr int kMostReplicas = 8;
constexpr std::int64_t kMostElements = 4 << 20;
constexpr std::int64_t kSmallBucket = 1 << 18, kLargeBucket = 1 << 20;  // 1 and 4 MiB: StepOptions' defaults
const std::vector<std::string> kAlgorithms = {"ring", "tree", "hierarchical-copy", "one-device"};

struct Replicas {
  explicit Replicas(const std::vector<lockstep::GpuId>& ids) {
    for (const lockstep::GpuId& id : ids) {
      gpus.push_back(std::make_unique<LogicalGpu>(id));
      buffers.push_back(gpus.back()->arena().allocate(kMostElements * sizeof(float), "benchmark"));
    }
  }
  std::vector<lockstep::Participant> participants(int n, std::int64_t elements) const {
    std::vector<lockstep::Participant> all;
    for (std::size_t r = 0; r < static_cast<std::size_t>(n); ++r)
      all.push_back({gpus[r].get(), &gpus[r]->communication(), Tensor(buffers[r].raw(), {elements})});
    return all;
  }
  std::vector<std::unique_ptr<LogicalGpu>> gpus;
  std::vector<Buffer> buffers;
};

void wait_for(const std::vector<lockstep::Participant>& all) {
  for (const lockstep::Participant& one : all) one.stream->synchronize();
}

// Ones on every replica: after one all-reduce all elements are n. The number of those that are not.
std::int64_t wrong(lockstep::CrossDeviceOps& ops, const std::vector<lockstep::Participant>& all) {
  for (const lockstep::Participant& one : all) lockstep::ops::fill({one.gpu, one.stream, {}}, 1.0F, one.buffer);
  ops.all_reduce(all);
  std::int64_t count = 0;
  std::vector<float> values(static_cast<std::size_t>(all[0].buffer.size()));
  for (const lockstep::Participant& one : all) {
    lockstep::ops::download({one.gpu, one.stream, {}}, one.buffer, values.data());
    one.stream->synchronize();
    count += std::count_if(values.begin(), values.end(), [&](float value) { return value != static_cast<float>(all.size()); });
  }
  return count;
}

double microseconds(lockstep::CrossDeviceOps& ops, const std::vector<lockstep::Participant>& all, int times) {
  for (const lockstep::Participant& one : all) lockstep::ops::fill({one.gpu, one.stream, {}}, 0.0F, one.buffer);
  wait_for(all);
  const auto start = Clock::now();
  for (int i = 0; i < times; ++i) ops.all_reduce(all);
  wait_for(all);
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count() / times;
}

}  // namespace

int main() {
  const Replicas replicas(lockstep::split_gpu(0, std::vector<std::int64_t>(kMostReplicas, 64)));
  std::printf("%8s %9s", "replicas", "bytes");
  for (const std::string& name : kAlgorithms) std::printf(" %18s", name.c_str());
  std::printf("   fastest            #wrong\n");
  for (int n = 2; n <= kMostReplicas; ++n) {
    std::vector<std::unique_ptr<lockstep::CrossDeviceOps>> ops;
    std::vector<LogicalGpu*> gpus;
    for (int r = 0; r < n; ++r) gpus.push_back(replicas.gpus[static_cast<std::size_t>(r)].get());
    for (const std::string& name : kAlgorithms) {
      ops.push_back(lockstep::make_cross_device_ops(name));
      ops.back()->prepare(gpus, kMostElements);
    }
    std::vector<double> buckets(kAlgorithms.size());  // time for a small and a large bucket together
    for (const std::int64_t elements : {std::int64_t{1} << 10, std::int64_t{1} << 16, kSmallBucket, kLargeBucket, kMostElements}) {
      const auto all = replicas.participants(n, elements);
      std::int64_t errors = 0;
      for (const auto& one : ops) errors += wrong(*one, all);
      constexpr int kRounds = 15;
      std::vector<std::vector<double>> times(kAlgorithms.size());
      for (int round = 0; round < kRounds; ++round) {
        for (std::size_t a = 0; a < ops.size(); ++a) times[a].push_back(microseconds(*ops[a], all, elements > (1 << 18) ? 2 : 10));
      }
      std::vector<double> medians;
      for (auto& one : times) {
        std::nth_element(one.begin(), one.begin() + kRounds / 2, one.end());
        medians.push_back(one[kRounds / 2]);
      }
      const auto best = std::min_element(medians.begin(), medians.end());
      std::printf("%8d %9lld", n, static_cast<long long>(elements * 4));
      for (const double median : medians) std::printf(" %9.1f us (%4.2f)", median, median / *best);
      for (std::size_t a = 0; a < medians.size() && (elements == kSmallBucket || elements == kLargeBucket); ++a) buckets[a] += medians[a];
      std::printf("   %-18s %lld\n", kAlgorithms[static_cast<std::size_t>(best - medians.begin())].c_str(), static_cast<long long>(errors));
    }
    const auto best = std::min_element(buckets.begin(), buckets.end());
    std::printf("%8d   buckets", n);
    for (const double sum : buckets) std::printf(" %9.1f us (%4.2f)", sum, sum / *best);
    std::printf("   %s\n", kAlgorithms[static_cast<std::size_t>(best - buckets.begin())].c_str());
  }
}
