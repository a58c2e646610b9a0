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
Result check_buffer(const char* function, const char* name, const void* buffer, int device) {
  const std::string start = std::string(function) + ": " + name;
  if (buffer == nullptr) return {ncclInvalidArgument, start + " is null"};
  const int owner = device_of_address(buffer);
  if (owner == device) return {};
  if (owner < 0) return {ncclInvalidArgument, start + " is not memory of a GPU"};
  return {ncclInvalidArgument,
          start + " is on GPU " + std::to_string(owner) + ", the communicator's rank on GPU " + std::to_string(device)};
}

Result check_stream(const char* function, cudaStream_t stream, int device) {
  const CurrentDevice current(device);
  const int owner = device_of(stream);
  if (owner == device) return {};
  if (owner < 0) return {ncclUnhandledCudaError, std::string(function) + ": stream is not a stream"};
  return {ncclUnhandledCudaError, std::string(function) + ": the stream is GPU " + std::to_string(owner) +
                                      "'s, the communicator's rank is on GPU " + std::to_string(device)};
}

// What all calls check.
Result check_comm(const char* function, const Comm& comm) {
  if (comm == nullptr) return no_communicator(function);
  const std::lock_guard lock(comm->mutex);
  if (comm->communicator == nullptr) return not_initialised(function);
  if (comm->finalized) return {ncclInvalidUsage, std::string(function) + ": the communicator has been finalized"};
  // Before the arguments are checked: on a GPU that has failed there is no memory either, and the other ranks must not wait for this one.
  const bool failed = lockstep::sim::runtime().executor.error(comm->device) != cudaSuccess;
  return failed ? comm->communicator->gpu_failed(comm->rank, function) : Result{};
}

Result check_type(const char* function, ncclDataType_t type) {
  if (size_of(type) > 0) return {};
  return {ncclInvalidArgument, std::string(function) + ": " + std::to_string(static_cast<int>(type)) + " is no data type"};
}

Result check_rank(const char* function, const char* name, int rank, int ranks) {
  if (rank >= 0 && rank < ranks) return {};
  return {ncclInvalidArgument, std::string(function) + ": " + name + " " + std::to_string(rank) + " is not one of the " +
                                   std::to_string(ranks) + " ranks, counted from 0"};
}

Result check_collective(const Comm& comm, const CollectiveCall& call, cudaStream_t stream) {
  const CollectiveSignature& what = call.what;
  const char* function = name_of(what.kind);
  Result result = check_comm(function, comm);
  if (result.ok()) result = check_rank(function, "root", what.root, comm->ranks);
  if (result.ok()) result = check_type(function, what.type);
  if (result.ok() && reduces(what.kind) && static_cast<unsigned>(what.op) >= static_cast<unsigned>(ncclNumOps)) {
    result = {ncclInvalidArgument, std::string(function) + ": " + std::to_string(static_cast<int>(what.op)) + " is no reduction operator"};
  }
  if (result.ok()) result = check_stream(function, stream, comm->device);
  if (!result.ok() || what.count == 0) return result;
  const bool is_root = comm->rank == what.root;
  if (what.kind != Kind::broadcast || is_root) result = check_buffer(function, "sendbuff", call.send, comm->device);
  if (result.ok() && (what.kind != Kind::reduce || is_root)) {
    result = check_buffer(function, "recvbuff", call.receive, comm->device);
  }
  return result;
}

ncclResult_t collective(CollectiveCall call, ncclComm_t handle, cudaStream_t stream) {
  const Comm comm = find_comm(handle);
  if (const Result result = check_collective(comm, call, stream); !result.ok()) return refuse(result, comm);
  if (const auto planned = lockstep::sim::planned_fault(name_of(call.what.kind), comm->device)) {
    return refuse({static_cast<ncclResult_t>(*planned), std::string(name_of(call.what.kind)) + " fails as planned"}, comm);
  }
  // A buffer that the rank's role does not use may be anything.
  const bool is_root = comm->rank == call.what.root;
  if (call.what.kind == Kind::broadcast && !is_root) call.send = nullptr;
  if (call.what.kind == Kind::reduce && !is_root) call.receive = nullptr;
  return issue({comm, stream, call});
}

ncclResult_t transfer(const TransferCall& call, ncclComm_t handle, cudaStream_t stream) {
  const char* function = call.sends ? "ncclSend" : "ncclRecv";
  const Comm comm = find_comm(handle);
  Result result = check_comm(function, comm);
  if (result.ok()) result = check_rank(function, "peer", call.peer, comm->ranks);
  if (result.ok()) result = check_type(function, call.type);
  if (result.ok()) result = check_stream(function, stream, comm->device);
  if (result.ok() && call.count > 0) {
    result = check_buffer(function, call.sends ? "sendbuff" : "recvbuff", call.buffer, comm->device);
  }
  if (!result.ok()) return refuse(result, comm);
  return issue({comm, stream, call});
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
