// Lesson 4: all-reduce, three times. Afterwards every replica's `buffer` holds the sum of all buffers, with the same bits.
//
// For all three:
// - Buffers may still be being written, in their replica's stream, when you are called.
// - Messages go by cudaMemcpyPeerAsync, into `buffer` or into `staging` (which has room for `count` floats).
//   add(replica, from, to, count) adds on that replica's GPU, in its stream: to[i] += from[i].
// - Afterwards each replica's stream may change its buffer at once: be sure that nobody else is still reading it.
// - The host does not wait. An event may be recorded again and again; a wait means the record that was made last before it.
#pragma once

#include "given.h"

namespace lesson {

// Part 1. Replica 0 takes the buffers of 1, 2, ... in this order, adds each to its own, and sends the sum back.
inline void reduce_to_one_device(const std::vector<Replica>& replicas) {
  // Your code.
}

// Part 2. n chunks (cut(count, n)) around a ring of n replicas. Everybody takes from the left neighbour, in its own stream:
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
