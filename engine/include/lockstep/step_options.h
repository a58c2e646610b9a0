// How the steps of a strategy's models run. A strategy has these options (Strategy::set_step_options), and each model made in its scope
// takes a copy.
#pragma once

#include <cstdint>
#include <optional>

#include "lockstep/flipped_bit.h"

namespace lockstep {

// An Embedding's gradient is summed as a whole, or by the rows that the batch uses; automatic: whichever sends less.
enum class SparseGradients { automatic, dense, gathered };

struct StepOptions {
  std::uint64_t seed = 0;               // of initial values and random layers; Model::set_seed
  std::int64_t bucket_bytes = 4 << 20;  // at most about so much: they shrink towards the end of backward (docs/algorithms.md)
  std::int64_t first_bucket_bytes = 1 << 20;
  bool overlap = true;          // buckets are summed while backward runs; off to measure what that saves
  bool graphs = false;          // forward and backward as CUDA graphs where they are the same in every step
  bool check_mirrored = false;  // compare checksums of all replicas after each barrier; Model::check_mirrored
  std::optional<FlippedBit> flipped_bit;
  double deadline_seconds = 120;  // how long any wait of a step may take
  SparseGradients sparse_gradients = SparseGradients::automatic;
};

// The defaults, changed by LOCKSTEP_BUCKET_MIB (as 4 or 0.5), LOCKSTEP_OVERLAP and LOCKSTEP_GRAPHS (on or off), LOCKSTEP_FLIP_BIT and
// LOCKSTEP_DEADLINE (seconds). A strategy reads them once, when it is made.
StepOptions step_options_from_environment();

}  // namespace lockstep
