// Lesson 4: all-reduce, three times. Afterwards every replica's `buffer` holds the sum of all buffers, with the same bits.
//
// For all three:
// - When you are called, the replicas' streams may still be writing their buffers.
// - Send messages with cudaMemcpyPeerAsync, into `buffer` or into `staging` (which has room for `count` floats).
//   add(replica, from, to, count) adds on that replica's GPU, in its stream: to[i] += from[i].
// - Afterwards each replica's stream may change its buffer at once: be sure that no other replica is still reading it.
// - The host does not wait. An event may be recorded many times; a wait refers to the most recent record.
#pragma once

#include "given.h"

namespace lesson {

// Part 1. Replica 0 takes the buffers of 1, 2, ... in this order, adds each to its own, and sends the sum back.
inline void reduce_to_one_device(const std::vector<Replica>& replicas) {
  // Your code.
}

// Part 2. n chunks (cut(count, n)) around a ring of n replicas. Every replica takes from its left neighbour, in its own stream:
//   reduce-scatter, step s = 0 .. n-2:  replica r takes chunk r-1-s and adds it to its own
//   all-gather,     step s = 0 .. n-2:  replica r takes chunk r-s and keeps it
// Numbers of chunks and replicas are counted around the ring. Empty chunks need no message.
inline void ring_all_reduce(const std::vector<Replica>& replicas) {
  // Your code.
}

// Part 3. In the round with distance d = 1, 2, 4, ... every replica r that is a multiple of 2d takes the buffer of r + d (where there is
// one) and adds it to its own. Then the sum goes back the same way: rounds ..., 4, 2, 1, and r + d takes it from r.
inline void tree_all_reduce(const std::vector<Replica>& replicas) {
  // Your code.
}

}  // namespace lesson
