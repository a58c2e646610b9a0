// Large gradients of logical GPUs of one card, summed while they are made: each replica adds its own to what the one before it left.
//
// The sum is in replica 0's buffer from the start. A replica's matrix product adds to it where it would have written its own gradient
// (beta = 1), in the order of the replicas, so the bits are those of gradients that were made first and added then. What is saved is n - 1
// gradients written to memory and read again: eight of MNIST's are 22 MB, more than a processor's cache has to spare.
//
// The price is order: a replica's product waits for that of the one before. With two replicas that is all there is to do at the time, so
// they keep to themselves; from three on the others' forward and backward fill the gap.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include "deadline.h"
#include "graph.h"
#include "layer.h"
#include "stream.h"

namespace lockstep {

// By variable: gradients of at least `bytes` whose layers can add them.
std::vector<bool> gradients_to_hand_on(const Graph& graph, std::int64_t bytes);

class HandedOnSums {
 public:
  static constexpr int kFewestReplicas = 3;

  // `sums`, by variable: replica 0's gradient where it is handed on, else not defined. `cards`: by replica.
  HandedOnSums(std::vector<Tensor> sums, const std::vector<int>& cards);

  void begin();  // a step
  void stop();   // some replica of it will never come
  bool has(int variable) const { return sums_[static_cast<std::size_t>(variable)].defined(); }

  // Waits until the replica before has issued its part (GaveUp where it does not), makes the stream wait until that is done, and says
  // where this replica's part goes.
  GradientPlace take(int variable, int replica, Stream& stream, const Deadline& deadline);
  // What the replica adds was issued on this stream: the next one may take over.
  void pass_on(int variable, int replica, const Stream& stream);
  // Behind this the sum over all replicas is there; everybody has passed it on.
  void wait_for_sum(int variable, Stream& stream) const;

 private:
  std::vector<Tensor> sums_;
  std::vector<std::vector<Event>> added_;  // by variable, by replica; empty where nothing is handed on
  std::mutex mutex_;
  std::vector<std::condition_variable> turn_;  // by replica, so that nobody is woken for somebody else's turn
  std::vector<int> next_;                      // by variable: whose turn it is
  bool stopped_ = false;
};

}  // namespace lockstep
