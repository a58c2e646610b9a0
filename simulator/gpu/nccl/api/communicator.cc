// The registry of handles.
#include "simulator/gpu/nccl/api/communicator.h"

#include <cstdio>
#include <unordered_map>

#include "simulator/gpu/check/call_site.h"
#include "simulator/gpu/runtime/checker.h"
#include "simulator/gpu/runtime/runtime.h"

namespace lockstep::sim::nccl {

namespace {

struct Registry {
  std::mutex mutex;
  std::unordered_map<ncclComm_t, Communicator> live;
};

Registry& registry() {
  static Registry all;
  return all;
}

}  // namespace

Communicator add_communicator(int ranks, int rank, int device) {
  auto communicator = std::make_shared<ncclComm>();
  communicator->ranks = ranks;
  communicator->rank = rank;
  communicator->device = device;
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  all.live[communicator.get()] = communicator;
  return communicator;
}

Communicator find_communicator(ncclComm_t handle) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  const auto found = all.live.find(handle);
  return found != all.live.end() ? found->second : nullptr;
}

void remove_communicator(ncclComm_t handle) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  all.live.erase(handle);
}

std::shared_ptr<Clique> clique_of(const Communicator& communicator) {
  const std::lock_guard lock(communicator->mutex);
  return communicator->clique;
}

Verdict state_of(const Communicator& communicator) {
  if (const auto clique = clique_of(communicator); clique != nullptr) return clique->state();
  const std::lock_guard lock(communicator->mutex);
  return communicator->never_met.ok() ? Verdict{ncclInProgress, ""} : communicator->never_met;
}

ncclResult_t report(const Verdict& verdict, const Communicator& communicator) {
  if (verdict.ok()) return ncclSuccess;
  remember_error(verdict.text);
  if (Checker* const checker = runtime().checker.get()) {
    const std::string text = verdict.text + ".\n  The call that was refused: " + describe(call_site()) + ".";
    std::fprintf(stderr, "virtual NCCL: %s\n", text.c_str());
    checker->report(text);
  }
  if (communicator != nullptr) {
    const std::lock_guard lock(communicator->mutex);
    communicator->error = verdict.text;
  }
  return verdict.code;
}

}  // namespace lockstep::sim::nccl
