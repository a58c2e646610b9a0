// Calls between ncclGroupStart and ncclGroupEnd: collected by the thread, issued by the outermost end.
#pragma once

#include <variant>
#include <vector>

#include "communicator.h"

namespace lockstep::sim::nccl {

// A rank's way into a communicator. `place` is the caller's variable: set to null when the ranks do not meet.
struct Entry {
  ncclUniqueId id;
  Communicator communicator;
  ncclComm_t* place;
};

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

ncclResult_t enter_all(const std::vector<Entry>& entries);

ncclResult_t start_group();
ncclResult_t end_group();

}  // namespace lockstep::sim::nccl
