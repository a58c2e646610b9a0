// All-gather: each rank's block goes once round the ring, n - 1 messages. Rank r's operation puts block r into every rank's buffer.
#include "simulator/gpu/nccl/algorithm.h"
#include "simulator/gpu/nccl/direct/blocks.h"

namespace lockstep::sim::nccl {

namespace {

Range share(const Exchange& exchange, int /*rank*/) { return {0, exchange.what.count}; }

void run(const Exchange& exchange, int rank, Range part) {
  const Buffers buffers(exchange);
  const std::size_t offset = static_cast<std::size_t>(rank) * exchange.what.count;
  each_block(part, buffers.element, [&](std::size_t first, std::size_t /*count*/, std::size_t bytes) {
    for (int to = 0; to < exchange.ranks; ++to) copy_bytes(buffers.received_by(to, offset + first), buffers.sent_by(rank, first), bytes);
  });
}

std::vector<Message> messages(const Exchange& exchange, int rank) {
  const int n = exchange.ranks;
  std::vector<Message> list;
  for (int hop = 0; hop < n - 1; ++hop) {
    list.push_back({hop, (rank + hop) % n, (rank + hop + 1) % n, exchange.what.count * size_of(exchange.what.type)});
  }
  return list;
}

}  // namespace

const Algorithm kRingAllGather = {"ring", share, run, messages};

}  // namespace lockstep::sim::nccl
