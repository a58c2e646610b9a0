// Buckets: gradients that travel together.
//
// A variable joins the open bucket; once the bucket has reached its size it is closed (as in PyTorch's DDP, Li et al. 2020). So a large
// gradient leaves as soon as it is ready and does not wait for the small ones after it, and the first bucket is small: communication
// starts early. Towards the end of backward buckets shrink: none takes more than half of what is left. What is ready last has nothing to
// hide behind, and what comes just before it must be away by then. Below some size a message costs its latency and no less, so they do not
// shrink further. A sparse gradient is a bucket by itself: it may travel by the rows in use.
#include <algorithm>

#include "engine/distribute/buckets/bucket.h"

namespace lockstep {

std::vector<Bucket> make_buckets(const VariableLayout& layout, std::int64_t bucket_bytes, std::int64_t first_bucket_bytes,
                                 std::int64_t smallest_bytes) {
  constexpr auto kElement = static_cast<std::int64_t>(sizeof(float));
  std::vector<Bucket> buckets;
  const std::vector<int>& order = layout.ready_order();
  Bucket open;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto variable = static_cast<std::size_t>(order[i]);
    const bool sparse = layout.specs()[variable].sparse;
    if (sparse && !open.variables.empty()) {
      const std::int64_t begin = layout.offset(order[i]);
      buckets.push_back(std::move(open));
      open = Bucket{};
      open.first = begin;
    }
    open.variables.push_back(order[i]);
    if (sparse) open.sparse = order[i];
    // Padding between variables is zero on every replica and travels along, so that a bucket is one range.
    const std::int64_t end = i + 1 < order.size() ? layout.offset(order[i + 1]) : layout.trainable_elements();
    open.count = end - open.first;
    const std::int64_t left = (layout.trainable_elements() - open.first) * kElement;  // with what is in the open one
    const std::int64_t limit = std::min(std::max(smallest_bytes, left / 2), buckets.empty() ? first_bucket_bytes : bucket_bytes);
    if (open.count * kElement >= limit || sparse || i + 1 == order.size()) {
      buckets.push_back(std::move(open));
      open = Bucket{};
      open.first = end;
    }
  }
  return buckets;
}

}  // namespace lockstep
