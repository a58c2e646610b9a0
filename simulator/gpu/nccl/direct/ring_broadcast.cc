// Broadcast along the ring from its root: every rank but the last passes the whole on. Rank r's operation fills rank r's buffer.
#include "simulator/gpu/nccl/algorithm.h"
#include "simulator/gpu/nccl/direct/blocks.h"

namespace lockstep::sim::nccl {

namespace {

Range share(const Exchange& exchange, int /*rank*/) { return {0, exchange.what.count}; }

void run(const Exchange& exchange, int rank, Range part) {
  const Buffers buffers(exchange);
  copy_bytes(buffers.received_by(rank, part.begin), buffers.sent_by(exchange.what.root, part.begin), part.size() * buffers.element);
}

std::vector<Message> messages(const Exchange& exchange, int rank) {
  const int n = exchange.ranks;
  const int step = (rank - exchange.what.root + n) % n;
  if (step == n - 1) return {};
  return {{step, rank, (rank + 1) % n, exchange.what.count * size_of(exchange.what.type)}};
}

}  // namespace

const Algorithm kRingBroadcast = {"ring", share, run, messages};

}  // namespace lockstep::sim::nccl
