// Reduce-scatter: the first half of a ring all-reduce. Block r starts at rank r + 1 and ends, reduced, at rank r: n - 1 messages.
#include "simulator/gpu/nccl/algorithm.h"
#include "simulator/gpu/nccl/direct/blocks.h"

namespace lockstep::sim::nccl {

namespace {

Range share(const Exchange& exchange, int /*rank*/) { return {0, exchange.what.count}; }

void run(const Exchange& exchange, int rank, Range part) {
  const Buffers buffers(exchange);
  const std::size_t offset = static_cast<std::size_t>(rank) * exchange.what.count;
  const Range block_of_rank{offset + part.begin, offset + part.end};
  reduce_along_ring(exchange, buffers, rank, block_of_rank, [&](std::size_t first, const void* block, std::size_t bytes) {
    std::memcpy(buffers.received_by(rank, first - offset), block, bytes);
  });
}

std::vector<Message> messages(const Exchange& exchange, int rank) {
  const int n = exchange.ranks;
  std::vector<Message> list;
  for (int hop = 0; hop < n - 1; ++hop) {
    list.push_back({hop, (rank + 1 + hop) % n, (rank + 2 + hop) % n, exchange.what.count * size_of(exchange.what.type)});
  }
  return list;
}

}  // namespace

const Algorithm kRingReduceScatter = {"ring", share, run, messages};

}  // namespace lockstep::sim::nccl
