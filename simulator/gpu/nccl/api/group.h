// Calls between ncclGroupStart and ncclGroupEnd: collected by the thread, issued by the outermost end.
#pragma once

#include <variant>
#include <vector>

#include "simulator/gpu/nccl/api/init.h"

namespace lockstep::sim::nccl {

struct Call {
  Comm comm;
  cudaStream_t stream;
  std::variant<CollectiveCall, TransferCall> what;
};

// Both act at once outside a group. Arguments have been checked.
ncclResult_t init(const InitCall& call);
ncclResult_t issue(const Call& call);
// After a refused call inside a group, its end issues nothing and returns the first refusal.
ncclResult_t refuse(const Result& result, const Comm& comm = nullptr);

ncclResult_t start_group();
ncclResult_t end_group();

}  // namespace lockstep::sim::nccl
