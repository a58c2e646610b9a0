// Ring all-reduce: reduce-scatter around the ring, then all-gather around the ring (Patarasuk and Yuan, 2009).
//
// The elements are cut into n slices. Slice r starts at rank r + 1 and is reduced from rank to rank until rank r holds it whole, n - 1
// messages; then it goes round once more, n - 1 messages, and all ranks have it. A rank sends 2(n - 1) messages and 2S(n - 1)/n bytes.
// Rank r's operation makes slice r, in that order of summation, for all ranks.
#include "simulator/gpu/nccl/algorithm.h"
#include "simulator/gpu/nccl/direct/blocks.h"

namespace lockstep::sim::nccl {

namespace {

Range share(const Exchange& exchange, int rank) {
  return piece_of({0, exchange.what.count}, static_cast<std::size_t>(exchange.ranks), static_cast<std::size_t>(rank));
}

void run(const Exchange& exchange, int rank, Range part) {
  const Buffers buffers(exchange);
  reduce_along_ring(exchange, buffers, rank, part, [&](std::size_t first, const void* block, std::size_t bytes) {
    for (int to = 0; to < exchange.ranks; ++to) std::memcpy(buffers.received_by(to, first), block, bytes);
  });
}

std::vector<Message> messages(const Exchange& exchange, int rank) {
  const int n = exchange.ranks;
  const std::size_t bytes = share(exchange, rank).size() * size_of(exchange.what.type);
  std::vector<Message> list;
  for (int hop = 0; hop < 2 * (n - 1); ++hop) list.push_back({hop, (rank + 1 + hop) % n, (rank + 2 + hop) % n, bytes});
  return list;
}

}  // namespace

const Algorithm kRingAllReduce = {"ring", share, run, messages};

}  // namespace lockstep::sim::nccl
