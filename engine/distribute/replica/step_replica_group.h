// The replicas of a step, for layers that need a sum over all of them while they run (synchronised batch normalisation).
//
// Each replica's host thread brings its own buffer; the last to come issues one all-reduce for all of them, on the compute streams, and all
// continue. So the host threads meet, the GPUs only wait for one another's events.
#pragma once

#include <memory>
#include <vector>

#include "engine/device/deadline.h"
#include "engine/distribute/collectives/cross_device_ops.h"
#include "engine/distribute/replica/rendezvous.h"
#include "engine/ops/replica_group.h"

namespace lockstep {

class StepReplicaGroup : public ReplicaGroup {
 public:
  explicit StepReplicaGroup(std::vector<LogicalGpu*> gpus);

  // Before a step: the first `members` replicas have samples; no wait lasts beyond the deadline.
  void begin(int members, const Deadline& deadline);
  void stop() { rendezvous_.stop(); }  // a member will never come

  int size() const override { return members_; }
  void sum(int member, const Tensor& buffer) override;
  Tensor scratch(int member, std::int64_t elements) override;

 private:
  CrossDeviceOps& ops_for(std::int64_t elements);

  std::vector<LogicalGpu*> gpus_;
  std::vector<Buffer> scratch_;                       // by member
  std::vector<std::unique_ptr<CrossDeviceOps>> ops_;  // by number of members
  std::vector<std::int64_t> prepared_;                // by number of members: for how many elements
  int members_ = 0;
  Deadline deadline_{0};

  Rendezvous rendezvous_;
  std::vector<Participant> here_;
};

}  // namespace lockstep
