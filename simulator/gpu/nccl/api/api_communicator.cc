// NCCL's C functions: communicators, groups, errors.
#include <utility>

#include "simulator/gpu/nccl/api/group.h"
#include "simulator/gpu/nccl/message/bootstrap.h"

using namespace lockstep::sim::nccl;

namespace {

Result null_argument(const char* function, const char* argument) {
  return {ncclInvalidArgument, std::string(function) + ": " + argument + " is null"};
}

// The rank's handle is destroyed; what is queued completes or has been cancelled.
void leave(const Comm& comm, ncclResult_t code_for_others, const char* why) {
  std::shared_ptr<InitJob> init;
  {
    const std::lock_guard lock(comm->mutex);
    init = comm->init;
  }
  if (init != nullptr) init->cancel();
  const auto communicator = communicator_of(comm);
  if (communicator != nullptr) communicator->depart(comm->rank, code_for_others, why);
  remove_comm(comm.get());
  const CurrentDevice current(comm->device);
  const std::lock_guard lock(comm->mutex);
  for (const auto& [key, stream] : std::exchange(comm->side_streams, {})) cudaStreamDestroy(stream);
}

// *value = the member, for the three queries of a comm.
ncclResult_t query(const char* function, ncclComm_t handle, int* value, int ncclComm::*member) {
  const Comm comm = find_comm(handle);
  if (comm == nullptr) return report(no_communicator(function));
  if (value == nullptr) return report(null_argument(function, "the result"), comm);
  *value = (*comm).*member;
  return ncclSuccess;
}

ncclResult_t init_rank(const std::string& name, ncclComm_t* out, int nranks, const ncclUniqueId& id, int rank, bool blocking) {
  if (out == nullptr) return refuse(null_argument(name.c_str(), "comm"));
  *out = nullptr;
  if (nranks < 1 || rank < 0 || rank >= nranks) {
    return refuse({ncclInvalidArgument, name + ": rank " + std::to_string(rank) + " of " + std::to_string(nranks) + " does not exist"});
  }
  int device = 0;
  if (const cudaError_t status = cudaGetDevice(&device); status != cudaSuccess) {
    return refuse({ncclUnhandledCudaError, std::string("cudaGetDevice: ") + cudaGetErrorString(status)});
  }
  const Comm comm = add_comm(nranks, rank, device);
  *out = comm.get();
  return init({id, comm, out, blocking});
}

Result check_device(int device) {
  int count = 0;
  if (const cudaError_t status = cudaGetDeviceCount(&count); status != cudaSuccess) {
    return {ncclUnhandledCudaError, std::string("cudaGetDeviceCount: ") + cudaGetErrorString(status)};
  }
  if (device >= 0 && device < count) return {};
  return {ncclInvalidArgument,
          "device " + std::to_string(device) + " does not exist: this machine has " + std::to_string(count) + " GPUs, counted from 0"};
}

}  // namespace

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  if (version == nullptr) return report(null_argument("ncclGetVersion", "version"));
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* uniqueId) {
  if (uniqueId == nullptr) return report(null_argument("ncclGetUniqueId", "uniqueId"));
  if (new_unique_id(true, uniqueId).ok()) return ncclSuccess;
  return report(new_unique_id(false, uniqueId));  // no network: good enough within the process
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank) {
  return init_rank("ncclCommInitRank", comm, nranks, commId, rank, true);
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank, ncclConfig_t* config) {
  const char* name = "ncclCommInitRankConfig";
  const ncclConfig_t usual = NCCL_CONFIG_INITIALIZER;
  const ncclConfig_t& chosen = config != nullptr ? *config : usual;
  if (chosen.magic != usual.magic)
    return refuse({ncclInvalidArgument, std::string(name) + ": config was not made with NCCL_CONFIG_INITIALIZER"});
  if (chosen.blocking != NCCL_CONFIG_UNDEF_INT && chosen.blocking != 0 && chosen.blocking != 1)
    return refuse({ncclInvalidArgument, std::string(name) + ": blocking is " + std::to_string(chosen.blocking) + ", neither 0 nor 1"});
  return init_rank(name, comm, nranks, commId, rank, chosen.blocking != 0);
}

ncclResult_t ncclCommInitAll(ncclComm_t* comm, int ndev, const int* devlist) {
  if (comm == nullptr) return refuse(null_argument("ncclCommInitAll", "comm"));
  if (ndev < 1) return refuse({ncclInvalidArgument, "ncclCommInitAll: " + std::to_string(ndev) + " devices; it takes at least one"});
  for (int rank = 0; rank < ndev; ++rank) {
    if (const Result result = check_device(devlist != nullptr ? devlist[rank] : rank); !result.ok()) return refuse(result);
  }
  ncclUniqueId id{};
  if (const Result made = new_unique_id(!table_from_environment().shared_memory, &id); !made.ok()) return refuse(made);
  std::vector<InitCall> calls;
  for (int rank = 0; rank < ndev; ++rank) {
    const Comm one = add_comm(ndev, rank, devlist != nullptr ? devlist[rank] : rank);
    comm[rank] = one.get();
    calls.push_back({id, one, &comm[rank]});
  }
  return init_all(calls);
}

ncclResult_t ncclCommFinalize(ncclComm_t handle) {
  const Comm comm = find_comm(handle);
  if (comm == nullptr) return report(no_communicator("ncclCommFinalize"));
  const auto communicator = communicator_of(comm);
  if (communicator == nullptr) return report(not_initialised("ncclCommFinalize"), comm);
  {
    const std::lock_guard lock(comm->mutex);
    if (std::exchange(comm->finalized, true)) return ncclInvalidUsage;
  }
  communicator->drain(comm->rank);
  return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t handle) {
  if (handle == nullptr) return ncclSuccess;
  const Comm comm = find_comm(handle);
  if (comm == nullptr) return report(no_communicator("ncclCommDestroy"));
  leave(comm, ncclInvalidUsage, "has destroyed its communicator");
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t handle) {
  if (handle == nullptr) return ncclSuccess;
  const Comm comm = find_comm(handle);
  if (comm == nullptr) return report(no_communicator("ncclCommAbort"));
  leave(comm, ncclRemoteError, "has aborted its communicator");
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t handle, ncclResult_t* asyncError) {
  const Comm comm = find_comm(handle);
  if (comm == nullptr) return report(no_communicator("ncclCommGetAsyncError"));
  if (asyncError == nullptr) return report(null_argument("ncclCommGetAsyncError", "asyncError"), comm);
  *asyncError = async_error_of(comm).code;
  return ncclSuccess;
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int* count) { return query("ncclCommCount", comm, count, &ncclComm::ranks); }

ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int* device) { return query("ncclCommCuDevice", comm, device, &ncclComm::device); }

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) { return query("ncclCommUserRank", comm, rank, &ncclComm::rank); }

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "a CUDA call failed (ncclGetLastError says which)";
    case ncclSystemError:
      return "a call of the operating system failed (ncclGetLastError says which)";
    case ncclInternalError:
      return "an error inside NCCL";
    case ncclInvalidArgument:
      return "invalid argument (ncclGetLastError says which)";
    case ncclInvalidUsage:
      return "invalid usage (ncclGetLastError says what is wrong)";
    case ncclRemoteError:
      return "another rank has gone or can't be reached";
    case ncclInProgress:
      return "in progress";
    default:
      return "unknown result code";
  }
}

const char* ncclGetLastError(ncclComm_t handle) {
  const Comm comm = find_comm(handle);
  if (comm == nullptr) return last_error("");
  const std::string shared = async_error_of(comm).text;
  const std::lock_guard lock(comm->mutex);
  return last_error(!comm->error.empty() ? comm->error : shared);
}

ncclResult_t ncclGroupStart() { return start_group(); }

ncclResult_t ncclGroupEnd() { return end_group(); }

}  // extern "C"

namespace lockstep::sim::nccl {

Traffic traffic(ncclComm_t handle) {
  const Comm comm = find_comm(handle);
  const auto communicator = comm != nullptr ? communicator_of(comm) : nullptr;
  return communicator != nullptr ? communicator->traffic(comm->rank) : Traffic{};
}

void reset_traffic(ncclComm_t handle) {
  const Comm comm = find_comm(handle);
  const auto communicator = comm != nullptr ? communicator_of(comm) : nullptr;
  if (communicator != nullptr) communicator->reset_traffic(comm->rank);
}

}  // namespace lockstep::sim::nccl
