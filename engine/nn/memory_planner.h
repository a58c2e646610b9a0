// Where tensors lie in one block of memory, given when each of them is live: memory is used again once its tensor is done.
#pragma once

#include <cstddef>
#include <vector>

namespace lockstep {

// A tensor needed at the points of time first ... last, both included.
struct Lifetime {
  std::size_t bytes = 0;
  int first = 0;
  int last = 0;

  bool meets(const Lifetime& other) const { return first <= other.last && other.first <= last; }
};

struct MemoryPlan {
  std::vector<std::size_t> offsets;  // one for each tensor, aligned
  std::size_t total = 0;
};

constexpr std::size_t kTensorAlignment = 256;  // what cudaMalloc promises, and vector loads like

// Tensors that are live together never overlap. The smallest of three greedy plans: largest first, each into the tightest gap
// that holds it ("greedy by size" of Pisarchyk and Lee, "Efficient memory management for deep neural net inference", 2020);
// the same in order of time; and from both ends in turn, which is exact for a chain.
MemoryPlan plan_memory(const std::vector<Lifetime>& tensors);

// The most bytes (each tensor rounded up to the alignment) that are live at one time: no plan can do with less.
std::size_t peak_bytes(const std::vector<Lifetime>& tensors);

}  // namespace lockstep
