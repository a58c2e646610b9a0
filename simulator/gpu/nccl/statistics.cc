// The messages of an all-reduce, listed without running it.
#include "simulator/gpu/nccl/statistics.h"

#include <algorithm>

#include "simulator/gpu/nccl/algorithm.h"

namespace lockstep::sim::nccl {

std::vector<Message> all_reduce_messages(const std::string& algorithm, int ranks, std::size_t count, ncclDataType_t type) {
  std::vector<Message> list;
  if (count == 0) return list;
  const Exchange exchange{{Kind::all_reduce, count, type, ncclSum, 0}, ranks, {}, {}};
  for (int rank = 0; rank < ranks; ++rank) {
    const auto part = (algorithm == "tree" ? kTreeAllReduce : kRingAllReduce).messages(exchange, rank);
    list.insert(list.end(), part.begin(), part.end());
  }
  std::stable_sort(list.begin(), list.end(), [](const Message& a, const Message& b) { return a.step < b.step; });
  return list;
}

}  // namespace lockstep::sim::nccl
