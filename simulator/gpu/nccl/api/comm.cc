#include "simulator/gpu/nccl/api/comm.h"

#include <unordered_map>

#include "simulator/gpu/runtime/checker.h"
#include "simulator/gpu/runtime/runtime.h"

namespace lockstep::sim::nccl {

namespace {

struct Registry {
  std::mutex mutex;
  std::unordered_map<ncclComm_t, Comm> live;
};

Registry& registry() {
  static Registry all;
  return all;
}

}  // namespace

Comm add_comm(int ranks, int rank, int device) {
  auto comm = std::make_shared<ncclComm>();
  comm->ranks = ranks;
  comm->rank = rank;
  comm->device = device;
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  all.live[comm.get()] = comm;
  return comm;
}

Comm find_comm(ncclComm_t handle) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  const auto found = all.live.find(handle);
  return found != all.live.end() ? found->second : nullptr;
}

void remove_comm(ncclComm_t handle) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  all.live.erase(handle);
}

std::shared_ptr<Communicator> communicator_of(const Comm& comm) {
  const std::lock_guard lock(comm->mutex);
  return comm->communicator;
}

Result async_error_of(const Comm& comm) {
  if (const auto communicator = communicator_of(comm); communicator != nullptr) return communicator->async_error();
  const std::lock_guard lock(comm->mutex);
  return comm->init_error.ok() ? Result{ncclInProgress, ""} : comm->init_error;
}

Result no_communicator(const char* function) {
  return {ncclInvalidArgument, std::string(function) + ": comm is no communicator (null, never made, or destroyed already)"};
}

Result not_initialised(const char* function) {
  return {ncclInvalidArgument, std::string(function) + ": the communicator is not initialised yet"};
}

ncclResult_t report(const Result& result, const Comm& comm) {
  if (result.ok()) return ncclSuccess;
  remember_error(result.text);
  if (Checker* const checker = runtime().checker.get()) checker->refused_call("virtual NCCL", result.text);
  if (comm != nullptr) {
    const std::lock_guard lock(comm->mutex);
    comm->error = result.text;
  }
  return result.code;
}

}  // namespace lockstep::sim::nccl
