// Ring all-reduce (Patarasuk and Yuan 2009): a reduce-scatter, then an all-gather, in n chunks around a ring of n replicas.
//
// Every replica sends 2(n - 1) messages and 2S(n - 1)/n bytes, which is the least possible, and no link carries more than another. The
// bargain is latency: 2(n - 1) messages follow one another. Chunk c is added in the order c, c + 1, ... around the ring.
#pragma once

#include <vector>

#include "engine/distribute/collectives/cross_device_ops.h"

namespace lockstep {

class RingAllReduceOps : public CrossDeviceOps {
 public:
  std::string name() const override { return "ring"; }
  Traffic all_reduce(const std::vector<Participant>& participants) override;
  void prepare(const std::vector<LogicalGpu*>& gpus, std::int64_t elements) override;

 private:
  std::vector<Event> ready_;     // by replica: what its neighbour reads next is in place
  std::vector<Buffer> staging_;  // by replica: one chunk, as it came from a left neighbour on another card
  std::int64_t elements_ = 0;
};

}  // namespace lockstep
