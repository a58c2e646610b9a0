// A sum along a tree of replicas: up to replica 0, then down again. Three of the algorithms are such trees and differ only in shape:
// a star (reduction to one device), a binomial tree, and two levels (hierarchical copy).
//
// Every edge carries S bytes up and S bytes down, so all of them send 2(n - 1) messages; the shape decides how many of those can be under
// way at once and which replica or link carries most. Sums are added in the order of the edges, whatever arrives first.
#pragma once

#include <vector>

#include "engine/distribute/collectives/cross_device_ops.h"

namespace lockstep {

class ReductionTree : public CrossDeviceOps {
 public:
  struct Edge {
    int parent = 0;
    int child = 0;
  };

  Traffic all_reduce(const std::vector<Participant>& participants) override;
  Traffic reduce(const std::vector<Participant>& participants) override;  // only the way up
  void prepare(const std::vector<LogicalGpu*>& gpus, std::int64_t elements) override;
  // In the order of adding: whatever a child gets stands before its own edge. Every replica but 0 is a child once.
  virtual std::vector<Edge> edges(const std::vector<LogicalGpu*>& gpus) const = 0;

 private:
  bool nothing_to_do(const std::vector<Participant>& participants) const;
  std::size_t added_at_once(const std::vector<Participant>& participants, std::size_t first) const;
  int add_upwards(const std::vector<Participant>& participants);  // the rounds it took
  Traffic traffic(const std::vector<Participant>& participants, int ways) const;
  void record(std::vector<Event>& events, const std::vector<Participant>& participants, std::size_t replica);

  std::vector<Edge> edges_;
  std::vector<Event> ready_;     // by replica: its sum so far, or on the way down the whole sum, is in place
  std::vector<Event> read_;      // by replica: it has read its parent's buffer
  std::vector<Buffer> staging_;  // by replica: what a child on another card sent; children on the same card are read where they are
  std::int64_t elements_ = 0;
};

}  // namespace lockstep
