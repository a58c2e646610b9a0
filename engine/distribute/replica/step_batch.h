// What one batch brings to a step: its samples, how they are cut, which step it belongs to, and how long anything may take.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/device/deadline.h"
#include "engine/nn/program.h"
#include "engine/tensor/shard.h"
#include "lockstep/array.h"

namespace lockstep {

// Arrays are kept (they share their elements) as long as a replica's thread may read them.
struct StepBatch {
  Mode mode = Mode::training;
  Array x, y, weights;
  std::vector<Shard> shards;  // of this worker's replicas
  std::int64_t step = 1;      // counted from 1, as optimizers do
  std::uint64_t seed = 0;     // of random layers
  int accumulation = 1;       // batches that make an update together
  int accumulated = 0;        // of them, before this one
  bool custom = false;        // replicas bring their own samples, see custom_step.cc
  Deadline deadline{0};

  bool training() const { return mode == Mode::training; }
  bool updates() const { return accumulated + 1 == accumulation; }  // this batch completes an update
  // For random layers, which draw again for every batch.
  std::uint64_t number() const {
    return static_cast<std::uint64_t>(step - 1) * static_cast<std::uint64_t>(accumulation) + static_cast<std::uint64_t>(accumulated);
  }
};

}  // namespace lockstep
