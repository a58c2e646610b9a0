// MultiWorkerMirroredStrategy: the mirrored step over several processes.
#include "engine/distribute/collectives/multi_worker_all_reduce.h"
#include "engine/distribute/strategy/strategy_impl.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

std::shared_ptr<Strategy::Impl> make_impl(const std::vector<GpuId>& gpus, const RunFacts& in_common) {
  const Agreement agreement = meet_workers(static_cast<int>(gpus.size()), deadline_from_environment(), in_common);
  const WorkerPlace& place = agreement.place;
  const std::string why = "worker " + std::to_string(place.worker) + " of " + std::to_string(place.workers) + ", " +
                          std::to_string(place.replicas) + " replicas in all";
  return std::make_shared<Strategy::Impl>("MultiWorkerMirroredStrategy", gpus, std::make_shared<MultiWorkerAllReduceOps>(agreement), why);
}

}  // namespace

MultiWorkerMirroredStrategy::MultiWorkerMirroredStrategy() : MultiWorkerMirroredStrategy(list_gpus()) {}
MultiWorkerMirroredStrategy::MultiWorkerMirroredStrategy(const std::vector<GpuId>& gpus, const InCommon& in_common)
    : Strategy(make_impl(gpus, in_common)) {}

bool MultiWorkerMirroredStrategy::started_with_workers() { return how_workers_were_started() != StartedBy::none; }

}  // namespace lockstep
