// Reduce along the ring to its root: from the rank after the root, each rank adds its own and passes on; n - 1 messages of the whole.
// Rank r's operation makes slice r of the root's result.
#include "simulator/gpu/nccl/algorithm.h"
#include "simulator/gpu/nccl/direct/blocks.h"

namespace lockstep::sim::nccl {

namespace {

Range share(const Exchange& exchange, int rank) {
  return piece_of({0, exchange.what.count}, static_cast<std::size_t>(exchange.ranks), static_cast<std::size_t>(rank));
}

void run(const Exchange& exchange, int /*rank*/, Range part) {
  const Buffers buffers(exchange);
  const int root = exchange.what.root;
  reduce_along_ring(exchange, buffers, root, part, [&](std::size_t first, const void* block, std::size_t bytes) {
    std::memcpy(buffers.received_by(root, first), block, bytes);
  });
}

std::vector<Message> messages(const Exchange& exchange, int rank) {
  if (rank == exchange.what.root) return {};
  const int n = exchange.ranks;
  const int step = (rank - exchange.what.root - 1 + n) % n;
  return {{step, rank, (rank + 1) % n, exchange.what.count * size_of(exchange.what.type)}};
}

}  // namespace

const Algorithm kRingReduce = {"ring", share, run, messages};

}  // namespace lockstep::sim::nccl
