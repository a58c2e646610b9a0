// The plainest all-reduce: replica 0 adds up everybody's buffer and hands the sum back.
//
// 2(n - 1) messages of S bytes, all through replica 0's link: fine for two replicas or one card, the bottleneck for many. It adds in
// replica order, ((x0 + x1) + x2) + ..., so it is also the one to compare others with.
#pragma once

#include <vector>

#include "cross_device_ops.h"

namespace lockstep {

class ReductionToOneDeviceOps : public CrossDeviceOps {
 public:
  std::string name() const override { return "one-device"; }
  Traffic all_reduce(const std::vector<Participant>& participants) override;
  void prepare(const std::vector<LogicalGpu*>& gpus, std::int64_t elements) override;

 private:
  std::vector<Event> events_;  // one for each replica
  Buffer staging_;             // on replica 0: (elements), what the next replica sent
};

}  // namespace lockstep
