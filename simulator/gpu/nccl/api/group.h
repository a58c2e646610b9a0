// Calls between ncclGroupStart and ncclGroupEnd: collected by the thread, issued by the outermost end.
#pragma once

#include <variant>
#include <vector>

#include "simulator/gpu/nccl/api/entrance.h"

namespace lockstep::sim::nccl {

struct Call {
  Communicator communicator;
  cudaStream_t stream;
  std::variant<CollectiveCall, TransferCall> what;
};

// Both act at once outside a group. Checks have been made.
ncclResult_t enter(const Entry& entry);
ncclResult_t issue(const Call& call);
// A refused call inside a group spoils the group: its end issues nothing and returns the first refusal.
ncclResult_t refuse(const Verdict& verdict, const Communicator& communicator = nullptr);

ncclResult_t start_group();
ncclResult_t end_group();

}  // namespace lockstep::sim::nccl
