// A place to try cross-device ops on buffers of all replicas.
#pragma once

#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "engine/distribute/collectives/cross_device_ops.h"
#include "engine/ops/elementwise.h"
#include "tests/engine/distribute/support/gpus.h"

namespace lockstep::testing {

// Buffers on all replicas, one all-reduce after the other without waiting in between.
class Bench {
 public:
  Bench(const std::string& name, Gpus gpus, std::int64_t capacity) : gpus_(std::move(gpus)), ops_(make_cross_device_ops(name)) {
    ops_->prepare(gpus_.pointers, capacity);
    for (LogicalGpu* gpu : gpus_.pointers) {
      buffers_.push_back(gpu->arena().allocate(static_cast<std::size_t>(capacity) * 4 + 4, "test"));
      results_.push_back(gpu->arena().allocate(static_cast<std::size_t>(capacity) * 4 + 4, "test"));
    }
  }

  std::size_t replicas() const { return gpus_.pointers.size(); }
  CrossDeviceOps& ops() { return *ops_; }
  OpContext context(std::size_t r) { return {gpus_.pointers[r], &gpus_.pointers[r]->communication(), {}}; }
  Tensor buffer(std::size_t r, std::int64_t n) { return {buffers_[r].raw(), {n}}; }
  Tensor result(std::size_t r, std::int64_t n) { return {results_[r].raw(), {n}}; }

  std::vector<Participant> participants(std::int64_t n) {
    std::vector<Participant> all;
    for (std::size_t r = 0; r < replicas(); ++r) all.push_back({gpus_.pointers[r], &gpus_.pointers[r]->communication(), buffer(r, n)});
    return all;
  }

  // Uploads, reduces, keeps the result, and at once spoils the buffer: a neighbour that still reads it would see that.
  std::vector<std::vector<float>> reduce(const std::vector<std::vector<float>>& values, Traffic* traffic, bool broadcast = false) {
    const auto n = static_cast<std::int64_t>(values[0].size());
    for (std::size_t r = 0; r < replicas() && n; ++r) lockstep::ops::upload(context(r), values[r].data(), buffer(r, n));
    const Traffic sent = broadcast ? ops_->broadcast(participants(n)) : ops_->all_reduce(participants(n));
    if (traffic) *traffic = sent;
    std::vector<std::vector<float>> found(replicas(), std::vector<float>(values[0].size()));
    for (std::size_t r = 0; r < replicas() && n; ++r) {
      lockstep::ops::copy(context(r), buffer(r, n), result(r, n));
      lockstep::ops::fill(context(r), NAN, buffer(r, n));
      lockstep::ops::download(context(r), result(r, n), found[r].data());
    }
    for (LogicalGpu* gpu : gpus_.pointers) gpu->communication().synchronize();
    return found;
  }

 private:
  Gpus gpus_;
  std::unique_ptr<CrossDeviceOps> ops_;
  std::vector<Buffer> buffers_, results_;
};

inline std::vector<std::vector<float>> integers(std::size_t replicas, std::int64_t n, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::vector<float>> values(replicas, std::vector<float>(static_cast<std::size_t>(n)));
  for (auto& one : values) {
    for (float& value : one) value = static_cast<float>(static_cast<int>(random() % 2001) - 1000);
  }
  return values;
}

}  // namespace lockstep::testing
