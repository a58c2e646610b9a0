#include "engine/distribute/collectives/one_copy.h"

#include "lockstep/error.h"

namespace lockstep {

void OneCopyOps::prepare(const std::vector<LogicalGpu*>& gpus, std::int64_t elements) {
  for (const LogicalGpu* gpu : gpus) {
    if (gpu->physical() != gpus.front()->physical())
      throw Error("\"one-copy\" is for logical GPUs of one card: " + gpus.front()->name() + " and " + gpu->name() +
                  " have no memory in common. Leave the choice to the strategy, or name another algorithm.");
  }
  ReductionToOneDeviceOps::prepare(gpus, elements);
}

}  // namespace lockstep
