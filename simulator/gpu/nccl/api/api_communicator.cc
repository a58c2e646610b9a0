// NCCL's C functions: communicators, groups, errors.
#include <utility>

#include "simulator/gpu/nccl/api/group.h"
#include "simulator/gpu/nccl/message/meeting.h"

using namespace lockstep::sim::nccl;

namespace {

Verdict null_argument(const char* function, const char* argument) {
  return {ncclInvalidArgument, std::string(function) + ": " + argument + " is null"};
}

Verdict no_communicator(const char* function) {
  return {ncclInvalidArgument, std::string(function) + ": comm is no communicator (null, never made, or destroyed already)"};
}

// The rank's end of it goes; what is queued completes or has been cancelled.
void leave(const Communicator& communicator, ncclResult_t code_for_others, const char* why) {
  std::shared_ptr<Entrance> entrance;
  {
    const std::lock_guard lock(communicator->mutex);
    entrance = communicator->entrance;
  }
  if (entrance != nullptr) entrance->cancel();
  const auto clique = clique_of(communicator);
  if (clique != nullptr) clique->depart(communicator->rank, code_for_others, why);
  remove_communicator(communicator.get());
  const CurrentDevice current(communicator->device);
  const std::lock_guard lock(communicator->mutex);
  for (const auto& [key, stream] : std::exchange(communicator->side_streams, {})) cudaStreamDestroy(stream);
}

// *value = the member, for the three questions about a communicator.
ncclResult_t answer(const char* function, ncclComm_t comm, int* value, int ncclComm::*member) {
  const Communicator communicator = find_communicator(comm);
  if (communicator == nullptr) return report(no_communicator(function));
  if (value == nullptr) return report(null_argument(function, "the result"), communicator);
  *value = (*communicator).*member;
  return ncclSuccess;
}

ncclResult_t init_rank(const std::string& name, ncclComm_t* comm, int nranks, const ncclUniqueId& id, int rank, bool blocking) {
  if (comm == nullptr) return refuse(null_argument(name.c_str(), "comm"));
  *comm = nullptr;
  if (nranks < 1 || rank < 0 || rank >= nranks) {
    return refuse({ncclInvalidArgument, name + ": rank " + std::to_string(rank) + " of " + std::to_string(nranks) + " does not exist"});
  }
  int device = 0;
  if (const cudaError_t status = cudaGetDevice(&device); status != cudaSuccess) {
    return refuse({ncclUnhandledCudaError, std::string("cudaGetDevice: ") + cudaGetErrorString(status)});
  }
  const Communicator communicator = add_communicator(nranks, rank, device);
  *comm = communicator.get();
  return enter({id, communicator, comm, blocking});
}

Verdict check_device(int device) {
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
    if (const Verdict verdict = check_device(devlist != nullptr ? devlist[rank] : rank); !verdict.ok()) return refuse(verdict);
  }
  ncclUniqueId id{};
  if (const Verdict made = new_unique_id(!table_from_environment().shared_memory, &id); !made.ok()) return refuse(made);
  std::vector<Entry> entries;
  for (int rank = 0; rank < ndev; ++rank) {
    const Communicator communicator = add_communicator(ndev, rank, devlist != nullptr ? devlist[rank] : rank);
    comm[rank] = communicator.get();
    entries.push_back({id, communicator, &comm[rank]});
  }
  return enter_all(entries);
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  const Communicator communicator = find_communicator(comm);
  if (communicator == nullptr) return report(no_communicator("ncclCommFinalize"));
  const auto clique = clique_of(communicator);
  if (clique == nullptr) return report({ncclInvalidArgument, "ncclCommFinalize: the communicator's ranks have not met yet"}, communicator);
  {
    const std::lock_guard lock(communicator->mutex);
    if (std::exchange(communicator->finalized, true)) return ncclInvalidUsage;
  }
  clique->drain(communicator->rank);
  return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (comm == nullptr) return ncclSuccess;
  const Communicator communicator = find_communicator(comm);
  if (communicator == nullptr) return report(no_communicator("ncclCommDestroy"));
  leave(communicator, ncclInvalidUsage, "has destroyed its communicator");
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  if (comm == nullptr) return ncclSuccess;
  const Communicator communicator = find_communicator(comm);
  if (communicator == nullptr) return report(no_communicator("ncclCommAbort"));
  leave(communicator, ncclRemoteError, "has aborted its communicator");
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* asyncError) {
  const Communicator communicator = find_communicator(comm);
  if (communicator == nullptr) return report(no_communicator("ncclCommGetAsyncError"));
  if (asyncError == nullptr) return report(null_argument("ncclCommGetAsyncError", "asyncError"), communicator);
  *asyncError = state_of(communicator).code;
  return ncclSuccess;
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int* count) { return answer("ncclCommCount", comm, count, &ncclComm::ranks); }

ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int* device) { return answer("ncclCommCuDevice", comm, device, &ncclComm::device); }

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) { return answer("ncclCommUserRank", comm, rank, &ncclComm::rank); }

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

const char* ncclGetLastError(ncclComm_t comm) {
  const Communicator communicator = find_communicator(comm);
  if (communicator == nullptr) return last_error("");
  const std::string shared = state_of(communicator).text;
  const std::lock_guard lock(communicator->mutex);
  return last_error(!communicator->error.empty() ? communicator->error : shared);
}

ncclResult_t ncclGroupStart() { return start_group(); }

ncclResult_t ncclGroupEnd() { return end_group(); }

}  // extern "C"

namespace lockstep::sim::nccl {

Traffic traffic(ncclComm_t comm) {
  const Communicator communicator = find_communicator(comm);
  const auto clique = communicator != nullptr ? clique_of(communicator) : nullptr;
  return clique != nullptr ? clique->traffic(communicator->rank) : Traffic{};
}

void reset_traffic(ncclComm_t comm) {
  const Communicator communicator = find_communicator(comm);
  const auto clique = communicator != nullptr ? clique_of(communicator) : nullptr;
  if (clique != nullptr) clique->reset_traffic(communicator->rank);
}

}  // namespace lockstep::sim::nccl
