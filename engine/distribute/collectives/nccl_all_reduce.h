// All-reduce by NCCL, which knows the links between cards. It wants a card for each replica.
#pragma once

#include <nccl.h>

#include <vector>

#include "engine/distribute/collectives/cross_device_ops.h"

namespace lockstep {

class NcclAllReduceOps : public CrossDeviceOps {
 public:
  NcclAllReduceOps() = default;
  ~NcclAllReduceOps() override;
  NcclAllReduceOps(const NcclAllReduceOps&) = delete;
  NcclAllReduceOps& operator=(const NcclAllReduceOps&) = delete;

  std::string name() const override { return "nccl"; }
  // Traffic: one call for each replica, and the bytes a ring needs, 2S(n - 1): how NCCL itself defines bus bandwidth.
  Traffic all_reduce(const std::vector<Participant>& participants) override;
  Traffic broadcast(const std::vector<Participant>& participants) override;
  void prepare(const std::vector<LogicalGpu*>& gpus, std::int64_t elements) override;

 private:
  void check(const std::vector<Participant>& participants) const;
  void connect();
  void destroy();
  template <typename Call>
  void grouped(const std::vector<Participant>& participants, const Call& call);

  std::vector<int> cards_;
  std::vector<ncclComm_t> communicators_;  // by replica; none after a failure
};

}  // namespace lockstep
