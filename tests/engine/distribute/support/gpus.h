// GPUs to test on: several virtual cards, and one card split into logical GPUs.
#pragma once

#include <memory>
#include <vector>

#include "simulator/logical/logical_gpu.h"

namespace lockstep::testing {

constexpr int kCards = 8;  // cards 0 .. 7 are whole; one more is split into kLogical
constexpr int kLogical = 8;

struct Gpus {
  std::vector<std::unique_ptr<LogicalGpu>> owned;
  std::vector<LogicalGpu*> pointers;
};

Gpus whole_cards(int n);   // empty where the machine has fewer
Gpus logical_gpus(int n);  // on one card
std::vector<GpuId> logical_ids();

}  // namespace lockstep::testing
