#include "engine/nn/memory_planner.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <ranges>
#include <utility>

namespace lockstep {
namespace {

constexpr std::size_t kEndless = std::numeric_limits<std::size_t>::max();

std::size_t aligned(std::size_t bytes) { return (bytes + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment; }

struct Block {
  std::size_t begin = 0, end = 0;
};

// The places free beside the blocks; the last one is endless.
std::vector<Block> gaps_between(std::vector<Block>& taken) {
  std::sort(taken.begin(), taken.end(), [](const Block& a, const Block& b) { return a.begin < b.begin; });
  std::vector<Block> gaps;
  std::size_t end = 0;
  for (const Block& block : taken) {
    if (block.begin > end) gaps.push_back({end, block.begin});
    end = std::max(end, block.end);
  }
  gaps.push_back({end, kEndless});
  return gaps;
}

using Choose = std::function<std::size_t(std::size_t tensor, std::size_t bytes, const std::vector<Block>& gaps)>;

MemoryPlan place(const std::vector<Lifetime>& tensors, const std::vector<std::size_t>& order, const Choose& choose) {
  MemoryPlan plan;
  plan.offsets.assign(tensors.size(), 0);
  std::vector<std::size_t> placed;
  std::vector<Block> taken;
  for (const std::size_t i : order) {
    const std::size_t bytes = aligned(tensors[i].bytes);
    if (bytes == 0) continue;
    taken.clear();
    for (const std::size_t j : placed)
      if (tensors[i].meets(tensors[j])) taken.push_back({plan.offsets[j], plan.offsets[j] + aligned(tensors[j].bytes)});
    plan.offsets[i] = choose(i, bytes, gaps_between(taken));
    plan.total = std::max(plan.total, plan.offsets[i] + bytes);
    placed.push_back(i);
  }
  return plan;
}

// The tightest gap that holds it.
std::size_t best_fit(std::size_t /*tensor*/, std::size_t bytes, const std::vector<Block>& gaps) {
  const Block* best = nullptr;
  for (const Block& gap : gaps)
    if (gap.end - gap.begin >= bytes && (best == nullptr || gap.end - gap.begin < best->end - best->begin)) best = &gap;
  return best->begin;
}

// In order of time, from both ends of a block of `capacity` bytes in turn: a chain of layers, each of which needs its input
// and its output, then fits exactly. Where it does not work out, memory behind the block is taken.
MemoryPlan place_from_both_ends(const std::vector<Lifetime>& tensors, const std::vector<std::size_t>& order, std::size_t capacity) {
  bool high = false;
  return place(tensors, order, [&](std::size_t tensor, std::size_t bytes, const std::vector<Block>& gaps) {
    if (tensors[tensor].first < tensors[tensor].last) high = !high;  // what lives for one step only does not take a turn
    if (high) {
      for (const Block& gap : std::views::reverse(gaps))
        if (const std::size_t end = std::min(gap.end, capacity); end >= gap.begin + bytes) return end - bytes;
    }
    for (const Block& gap : gaps)
      if (gap.end - gap.begin >= bytes) return gap.begin;
    return gaps.back().begin;
  });
}

}  // namespace

MemoryPlan plan_memory(const std::vector<Lifetime>& tensors) {
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return tensors[a].first < tensors[b].first; });
  MemoryPlan best = place_from_both_ends(tensors, order, peak_bytes(tensors));
  const auto take_smaller = [&best](MemoryPlan plan) {
    if (plan.total < best.total) best = std::move(plan);
  };
  take_smaller(place(tensors, order, best_fit));
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return tensors[a].bytes > tensors[b].bytes; });
  take_smaller(place(tensors, order, best_fit));
  return best;
}

std::size_t peak_bytes(const std::vector<Lifetime>& tensors) {
  std::map<int, long long> change;
  for (const Lifetime& tensor : tensors) {
    change[tensor.first] += static_cast<long long>(aligned(tensor.bytes));
    change[tensor.last + 1] -= static_cast<long long>(aligned(tensor.bytes));
  }
  long long live = 0, peak = 0;
  for (const auto& [time, bytes] : change) peak = std::max(peak, live += bytes);
  return static_cast<std::size_t>(peak);
}

}  // namespace lockstep
