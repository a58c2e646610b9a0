// The thread's open group, and what its end does: first it initialises ranks, then issues collectives in the order of their calls, then
// transfers.
#include "simulator/gpu/nccl/api/group.h"

#include <algorithm>
#include <utility>

namespace lockstep::sim::nccl {

namespace {

struct Group {
  int depth = 0;
  ncclResult_t refused = ncclSuccess;
  std::vector<InitCall> inits;
  std::vector<Call> calls;
};

Group& group() {
  thread_local Group open;
  return open;
}

Result still_initialising() {
  return {ncclInvalidUsage, "the communicator is not initialised yet (ncclCommGetAsyncError says when it is)"};
}

ncclResult_t issue_collective(const Call& call) {
  const Comm& comm = call.comm;
  const CurrentDevice current(comm->device);
  const auto communicator = communicator_of(comm);
  if (communicator == nullptr) return report(still_initialising(), comm);
  return report(communicator->collective(comm->rank, std::get<CollectiveCall>(call.what), call.stream), comm);
}

// A stream of the rank's own for one peer and direction: transfers of a group must not wait for each other.
cudaError_t side_stream(ncclComm& comm, int peer, bool sends, cudaStream_t* stream) {
  const std::lock_guard lock(comm.mutex);
  const auto [found, fresh] = comm.side_streams.try_emplace({peer, sends}, nullptr);
  const cudaError_t status = fresh ? cudaStreamCreateWithFlags(&found->second, cudaStreamNonBlocking) : cudaSuccess;
  *stream = found->second;
  return status;
}

// Everything queued on `later` from now on waits for everything queued on `earlier`.
cudaError_t order(cudaStream_t earlier, cudaStream_t later) {
  cudaEvent_t event = nullptr;
  cudaError_t status = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  if (status == cudaSuccess) status = cudaEventRecord(event, earlier);
  if (status == cudaSuccess) status = cudaStreamWaitEvent(later, event, 0);
  if (event != nullptr) cudaEventDestroy(event);
  return status;
}

// Transfers of one rank on one stream happen together: each on a side stream, begun when the stream comes to them; the stream goes
// on when all are done.
ncclResult_t issue_transfers(const std::vector<const Call*>& calls) {
  const Comm& comm = calls.front()->comm;
  const cudaStream_t stream = calls.front()->stream;
  const CurrentDevice current(comm->device);
  const auto communicator = communicator_of(comm);
  if (communicator == nullptr) return report(still_initialising(), comm);
  ncclResult_t first = ncclSuccess;
  const auto note = [&](const Result& result) {
    const ncclResult_t code = report(result, comm);
    if (first == ncclSuccess) first = code;
  };
  const auto check = [&](cudaError_t status) {
    if (status != cudaSuccess) note({ncclUnhandledCudaError, std::string("ncclSend/ncclRecv: ") + cudaGetErrorString(status)});
    return status == cudaSuccess;
  };
  std::vector<cudaStream_t> sides;
  for (const Call* call : calls) {
    const auto& transfer = std::get<TransferCall>(call->what);
    cudaStream_t side = nullptr;
    if (!check(side_stream(*comm, transfer.peer, transfer.sends, &side))) return first;
    if (std::find(sides.begin(), sides.end(), side) == sides.end()) {
      sides.push_back(side);
      if (!check(order(stream, side))) return first;
    }
  }
  for (const Call* call : calls) {
    const auto& transfer = std::get<TransferCall>(call->what);
    cudaStream_t side = nullptr;
    if (check(side_stream(*comm, transfer.peer, transfer.sends, &side))) {
      note(communicator->transfer(comm->rank, transfer, side));
    }
  }
  for (cudaStream_t side : sides) check(order(side, stream));
  return first;
}

ncclResult_t issue_all(const std::vector<Call>& calls) {
  ncclResult_t first = ncclSuccess;
  const auto note = [&first](ncclResult_t code) {
    if (first == ncclSuccess) first = code;
  };
  std::vector<std::vector<const Call*>> transfers;
  for (const Call& call : calls) {
    if (std::holds_alternative<CollectiveCall>(call.what)) {
      note(issue_collective(call));
      continue;
    }
    const auto same = [&call](const std::vector<const Call*>& other) {
      return other.front()->comm == call.comm && other.front()->stream == call.stream;
    };
    const auto found = std::find_if(transfers.begin(), transfers.end(), same);
    if (found != transfers.end()) {
      found->push_back(&call);
    } else {
      transfers.push_back({&call});
    }
  }
  for (const auto& together : transfers) note(issue_transfers(together));
  return first;
}

}  // namespace

ncclResult_t init(const InitCall& call) {
  Group& open = group();
  if (open.depth == 0) return init_all({call});
  open.inits.push_back(call);
  return ncclSuccess;
}

ncclResult_t issue(const Call& call) {
  Group& open = group();
  if (open.depth == 0) return issue_all({call});
  open.calls.push_back(call);
  return ncclSuccess;
}

ncclResult_t refuse(const Result& result, const Comm& comm) {
  const ncclResult_t code = report(result, comm);
  Group& open = group();
  if (open.depth > 0 && open.refused == ncclSuccess) open.refused = code;
  return code;
}

ncclResult_t start_group() {
  ++group().depth;
  return ncclSuccess;
}

ncclResult_t end_group() {
  Group& open = group();
  if (open.depth == 0) return report({ncclInvalidUsage, "ncclGroupEnd without ncclGroupStart"});
  if (--open.depth > 0) return ncclSuccess;
  const Group closed = std::exchange(open, Group{});
  if (closed.refused != ncclSuccess) {
    for (const InitCall& call : closed.inits) {
      remove_comm(call.comm.get());
      *call.out = nullptr;
    }
    return closed.refused;
  }
  const ncclResult_t initialised = closed.inits.empty() ? ncclSuccess : init_all(closed.inits);
  const ncclResult_t issued = issue_all(closed.calls);
  return initialised != ncclSuccess ? initialised : issued;
}

}  // namespace lockstep::sim::nccl
