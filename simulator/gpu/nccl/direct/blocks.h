// Reducing block by block: what is being reduced stays in the first-level cache.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <vector>

#include "simulator/gpu/nccl/exchange.h"
#include "simulator/gpu/nccl/reduction.h"
#include "simulator/gpu/runtime/operation.h"

namespace lockstep::sim::nccl {

inline constexpr std::size_t kBlockBytes = 8192;

struct alignas(64) Block {
  std::array<std::byte, kBlockBytes> bytes;
  void* data() { return bytes.data(); }
};

// An exchange's buffers where they really are, and its element size; made when the operation runs.
struct Buffers {
  std::size_t element = 1;
  std::vector<const std::byte*> send;
  std::vector<std::byte*> receive;

  explicit Buffers(const Exchange& exchange) : element(size_of(exchange.what.type)) {
    for (const void* p : exchange.send) send.push_back(p != nullptr ? static_cast<const std::byte*>(resolve(p)) : nullptr);
    for (void* p : exchange.receive) receive.push_back(p != nullptr ? static_cast<std::byte*>(resolve(p)) : nullptr);
  }

  const std::byte* sent_by(int rank, std::size_t index) const { return send[static_cast<std::size_t>(rank)] + index * element; }
  std::byte* received_by(int rank, std::size_t index) const { return receive[static_cast<std::size_t>(rank)] + index * element; }
};

// body(first element, elements, bytes) for every block of the range.
template <typename Body>
void each_block(Range range, std::size_t element, Body body) {
  const std::size_t most = kBlockBytes / element;
  for (std::size_t first = range.begin; first < range.end; first += most) {
    const std::size_t count = std::min(most, range.end - first);
    body(first, count, count * element);
  }
}

// Reduces elements [range) of all ranks' buffers along the ring, from the rank after `last` to `last`, and gives each block to
// deliver(first element, block, bytes): a sum is ((x[last + 1] + x[last + 2]) + ...) + x[last].
template <typename Deliver>
void reduce_along_ring(const Exchange& exchange, const Buffers& buffers, int last, Range range, Deliver deliver) {
  const Reduction reduction = reduction_for(exchange.what.type, exchange.what.op);
  const int n = exchange.ranks;
  Block block;
  each_block(range, buffers.element, [&](std::size_t first, std::size_t count, std::size_t bytes) {
    reduction.start(block.data(), buffers.sent_by((last + 1) % n, first), count, n);
    for (int hop = 2; hop <= n; ++hop) reduction.combine(block.data(), buffers.sent_by((last + hop) % n, first), count, n);
    reduction.finish(block.data(), count, n);
    deliver(first, block.data(), bytes);
  });
}

inline void copy_bytes(void* to, const void* from, std::size_t bytes) {
  if (to != from && bytes > 0) std::memcpy(to, from, bytes);
}

}  // namespace lockstep::sim::nccl
