// NCCL's C functions: collectives and transfers. A call is checked at once and issued at once, or at the end of its group.
#include "simulator/gpu/nccl/api/group.h"
#include "simulator/gpu/nccl/reduction.h"
#include "simulator/gpu/runtime/faults.h"
#include "simulator/gpu/runtime/operation.h"
#include "simulator/gpu/runtime/runtime.h"

using lockstep::sim::device_of;
using lockstep::sim::device_of_address;
using namespace lockstep::sim::nccl;

namespace {

// A buffer that a rank's operation reads or writes must be its GPU's memory.
Verdict check_buffer(const char* function, const char* name, const void* buffer, int device) {
  const std::string start = std::string(function) + ": " + name;
  if (buffer == nullptr) return {ncclInvalidArgument, start + " is null"};
  const int owner = device_of_address(buffer);
  if (owner == device) return {};
  if (owner < 0) return {ncclInvalidArgument, start + " is not memory of a GPU"};
  return {ncclInvalidArgument,
          start + " is on GPU " + std::to_string(owner) + ", the communicator's rank on GPU " + std::to_string(device)};
}

Verdict check_stream(const char* function, cudaStream_t stream, int device) {
  const CurrentDevice current(device);
  const int owner = device_of(stream);
  if (owner == device) return {};
  if (owner < 0) return {ncclUnhandledCudaError, std::string(function) + ": stream is not a stream"};
  return {ncclUnhandledCudaError, std::string(function) + ": the stream is GPU " + std::to_string(owner) +
                                      "'s, the communicator's rank is on GPU " + std::to_string(device)};
}

// What all calls check; `clique` is met and working.
Verdict check_communicator(const char* function, const Communicator& communicator) {
  const std::string start = std::string(function) + ": ";
  if (communicator == nullptr) return {ncclInvalidArgument, start + "comm is no communicator (null, never made, or destroyed already)"};
  const std::lock_guard lock(communicator->mutex);
  if (communicator->clique == nullptr) return {ncclInvalidArgument, start + "the communicator's ranks have not met yet"};
  if (communicator->finalized) return {ncclInvalidUsage, start + "the communicator has been finalized"};
  // Before the arguments are looked at: a GPU that has failed gives no memory either, and the others must not wait for this rank.
  const bool failed = lockstep::sim::runtime().executor.error(communicator->device) != cudaSuccess;
  return failed ? communicator->clique->give_up(communicator->rank, function) : Verdict{};
}

Verdict check_type(const char* function, ncclDataType_t type) {
  if (size_of(type) > 0) return {};
  return {ncclInvalidArgument, std::string(function) + ": " + std::to_string(static_cast<int>(type)) + " is no data type"};
}

Verdict check_rank(const char* function, const char* name, int rank, int ranks) {
  if (rank >= 0 && rank < ranks) return {};
  return {ncclInvalidArgument, std::string(function) + ": " + name + " " + std::to_string(rank) + " is not one of the " +
                                   std::to_string(ranks) + " ranks, counted from 0"};
}

Verdict check_collective(const Communicator& communicator, const CollectiveCall& call, cudaStream_t stream) {
  const Signature& what = call.what;
  const char* function = name_of(what.kind);
  Verdict verdict = check_communicator(function, communicator);
  if (verdict.ok()) verdict = check_rank(function, "root", what.root, communicator->ranks);
  if (verdict.ok()) verdict = check_type(function, what.type);
  if (verdict.ok() && reduces(what.kind) && static_cast<unsigned>(what.op) >= static_cast<unsigned>(ncclNumOps)) {
    verdict = {ncclInvalidArgument, std::string(function) + ": " + std::to_string(static_cast<int>(what.op)) + " is no reduction operator"};
  }
  if (verdict.ok()) verdict = check_stream(function, stream, communicator->device);
  if (!verdict.ok() || what.count == 0) return verdict;
  const bool is_root = communicator->rank == what.root;
  if (what.kind != Kind::broadcast || is_root) verdict = check_buffer(function, "sendbuff", call.send, communicator->device);
  if (verdict.ok() && (what.kind != Kind::reduce || is_root)) {
    verdict = check_buffer(function, "recvbuff", call.receive, communicator->device);
  }
  return verdict;
}

ncclResult_t collective(CollectiveCall call, ncclComm_t comm, cudaStream_t stream) {
  const Communicator communicator = find_communicator(comm);
  if (const Verdict verdict = check_collective(communicator, call, stream); !verdict.ok()) return refuse(verdict, communicator);
  if (const auto planned = lockstep::sim::planned_fault(name_of(call.what.kind), communicator->device)) {
    return refuse({static_cast<ncclResult_t>(*planned), std::string(name_of(call.what.kind)) + " fails as planned"}, communicator);
  }
  // What the rank's role does not use is none of the collective's business.
  const bool is_root = communicator->rank == call.what.root;
  if (call.what.kind == Kind::broadcast && !is_root) call.send = nullptr;
  if (call.what.kind == Kind::reduce && !is_root) call.receive = nullptr;
  return issue({communicator, stream, call});
}

ncclResult_t transfer(const TransferCall& call, ncclComm_t comm, cudaStream_t stream) {
  const char* function = call.sends ? "ncclSend" : "ncclRecv";
  const Communicator communicator = find_communicator(comm);
  Verdict verdict = check_communicator(function, communicator);
  if (verdict.ok()) verdict = check_rank(function, "peer", call.peer, communicator->ranks);
  if (verdict.ok()) verdict = check_type(function, call.type);
  if (verdict.ok()) verdict = check_stream(function, stream, communicator->device);
  if (verdict.ok() && call.count > 0) {
    verdict = check_buffer(function, call.sends ? "sendbuff" : "recvbuff", call.buffer, communicator->device);
  }
  if (!verdict.ok()) return refuse(verdict, communicator);
  return issue({communicator, stream, call});
}

}  // namespace

extern "C" {

ncclResult_t ncclAllReduce(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                           cudaStream_t stream) {
  return collective({{Kind::all_reduce, count, datatype, op, 0}, sendbuff, recvbuff}, comm, stream);
}

ncclResult_t ncclReduce(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, ncclRedOp_t op, int root,
                        ncclComm_t comm, cudaStream_t stream) {
  return collective({{Kind::reduce, count, datatype, op, root}, sendbuff, recvbuff}, comm, stream);
}

ncclResult_t ncclBroadcast(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
                           cudaStream_t stream) {
  return collective({{Kind::broadcast, count, datatype, ncclSum, root}, sendbuff, recvbuff}, comm, stream);
}

ncclResult_t ncclBcast(void* buff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm, cudaStream_t stream) {
  return ncclBroadcast(buff, buff, count, datatype, root, comm, stream);
}

ncclResult_t ncclAllGather(const void* sendbuff, void* recvbuff, size_t sendcount, ncclDataType_t datatype, ncclComm_t comm,
                           cudaStream_t stream) {
  return collective({{Kind::all_gather, sendcount, datatype, ncclSum, 0}, sendbuff, recvbuff}, comm, stream);
}

ncclResult_t ncclReduceScatter(const void* sendbuff, void* recvbuff, size_t recvcount, ncclDataType_t datatype, ncclRedOp_t op,
                               ncclComm_t comm, cudaStream_t stream) {
  return collective({{Kind::reduce_scatter, recvcount, datatype, op, 0}, sendbuff, recvbuff}, comm, stream);
}

ncclResult_t ncclSend(const void* sendbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm, cudaStream_t stream) {
  return transfer({true, peer, const_cast<void*>(sendbuff), count, datatype}, comm, stream);
}

ncclResult_t ncclRecv(void* recvbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm, cudaStream_t stream) {
  return transfer({false, peer, recvbuff, count, datatype}, comm, stream);
}

}  // extern "C"
