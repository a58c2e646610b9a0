// The rings, over messages. Chunks are passed on as soon as they are whole, so all connections work at the same time.
#include "simulator/gpu/nccl/message/message_rank.h"

namespace lockstep::sim::nccl {

// See ring_all_reduce.cc for the algorithm. Slice r - 1 starts here; then slices come by in falling order: n - 1 times to add to, of which
// the last is this rank's own and complete, and n - 1 times complete.
Task ring_all_reduce(MessageRank& me) {
  const int n = me.ranks();
  const auto slice = [&me, n](int hop) {
    const int index = ((me.rank() - 1 - hop) % n + n) % n;
    return piece_of({0, me.what().count}, static_cast<std::size_t>(n), static_cast<std::size_t>(index));
  };
  if (n == 1) {
    for (const Range range : in_chunks({0, me.what().count}, me.element())) {
      const Chunk chunk = me.started(range);
      me.finish(*chunk);
      me.store(*chunk, range.begin);
    }
    co_return;
  }
  me.message(slice(0));
  for (const Range range : in_chunks(slice(0), me.element())) me.send(me.right(), me.started(range));
  for (int hop = 1; hop < n; ++hop) {
    me.message(slice(hop));
    for (const Range range : in_chunks(slice(hop), me.element())) {
      Chunk chunk = co_await me.receive(me.left());
      me.expect(*chunk, range);
      me.combine(*chunk, range);
      if (hop == n - 1) {
        me.finish(*chunk);
        me.store(*chunk, range.begin);
      }
      me.send(me.right(), std::move(chunk));
    }
  }
  for (int hop = n; hop < 2 * n - 1; ++hop) {
    const bool last = hop == 2 * n - 2;
    if (!last) me.message(slice(hop));
    for (const Range range : in_chunks(slice(hop), me.element())) {
      Chunk chunk = co_await me.receive(me.left());
      me.expect(*chunk, range);
      me.store(*chunk, range.begin);
      if (!last) me.send(me.right(), std::move(chunk));
    }
  }
}

// Block s of every rank's input starts at rank s + 1 and ends, reduced, at rank s.
Task ring_reduce_scatter(MessageRank& me) {
  const int n = me.ranks();
  const std::size_t count = me.what().count;
  for (int hop = 0; hop < n; ++hop) {
    const std::size_t offset = static_cast<std::size_t>(((me.rank() - 1 - hop) % n + n) % n) * count;
    const Range block{offset, offset + count};
    if (hop < n - 1) me.message(block);
    for (const Range range : in_chunks(block, me.element())) {
      Chunk chunk;
      if (hop > 0) {
        chunk = co_await me.receive(me.left());
        me.expect(*chunk, range);
        me.combine(*chunk, range);
      } else {
        chunk = me.started(range);
      }
      if (hop < n - 1) {
        me.send(me.right(), std::move(chunk));
      } else {
        me.finish(*chunk);
        me.store(*chunk, range.begin - offset);
      }
    }
  }
}

// Every rank's block goes once round the ring.
Task ring_all_gather(MessageRank& me) {
  const int n = me.ranks();
  const std::size_t count = me.what().count;
  for (int hop = 0; hop < n; ++hop) {
    const std::size_t offset = static_cast<std::size_t>((me.rank() - hop + n) % n) * count;
    if (hop < n - 1) me.message({0, count});
    for (const Range range : in_chunks({0, count}, me.element())) {
      Chunk chunk;
      if (hop > 0) {
        chunk = co_await me.receive(me.left());
        me.expect(*chunk, range);
      } else {
        chunk = me.copied(range);
      }
      me.store(*chunk, offset + range.begin);
      if (hop < n - 1) me.send(me.right(), std::move(chunk));
    }
  }
}

// From the root along the ring, to the rank before it.
Task ring_broadcast(MessageRank& me) {
  const bool is_root = me.rank() == me.what().root;
  const bool is_last = me.right() == me.what().root;
  const Range all{0, me.what().count};
  if (!is_last) me.message(all);
  for (const Range range : in_chunks(all, me.element())) {
    Chunk chunk;
    if (!is_root) {
      chunk = co_await me.receive(me.left());
      me.expect(*chunk, range);
    } else {
      chunk = me.copied(range);
    }
    me.store(*chunk, range.begin);
    if (!is_last) me.send(me.right(), std::move(chunk));
  }
}

// From the rank after the root along the ring, to the root.
Task ring_reduce(MessageRank& me) {
  const bool is_root = me.rank() == me.what().root;
  const bool is_first = me.left() == me.what().root;
  const Range all{0, me.what().count};
  if (!is_root) me.message(all);
  for (const Range range : in_chunks(all, me.element())) {
    Chunk chunk;
    if (!is_first) {
      chunk = co_await me.receive(me.left());
      me.expect(*chunk, range);
      me.combine(*chunk, range);
    } else {
      chunk = me.started(range);
    }
    if (is_root) {
      me.finish(*chunk);
      me.store(*chunk, range.begin);
    } else {
      me.send(me.right(), std::move(chunk));
    }
  }
}

}  // namespace lockstep::sim::nccl
