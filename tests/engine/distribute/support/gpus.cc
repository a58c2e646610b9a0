#include "tests/engine/distribute/support/gpus.h"

#include <cstdlib>
#include <string>

namespace lockstep::testing {
namespace {

// The virtual GPU reads its settings at first use, which is after this.
const bool kEnvironmentSet = [] {
  setenv("LOCKSTEP_SIM_GPUS", std::to_string(kCards + 1).c_str(), 1);
  return true;
}();

}  // namespace

Gpus whole_cards(int n) {
  Gpus gpus;
  if (static_cast<int>(list_gpus().size()) < n) return gpus;
  for (int card = 0; card < n; ++card) {
    GpuId id;
    id.physical = card;
    gpus.owned.push_back(std::make_unique<LogicalGpu>(id));
    gpus.pointers.push_back(gpus.owned.back().get());
  }
  return gpus;
}

std::vector<GpuId> logical_ids() {
  static const std::vector<GpuId> ids = split_gpu(static_cast<int>(list_gpus().size()) - 1, std::vector<std::int64_t>(kLogical, 512));
  return ids;
}

Gpus logical_gpus(int n) {
  Gpus gpus;
  for (int i = 0; i < n; ++i) {
    gpus.owned.push_back(std::make_unique<LogicalGpu>(logical_ids()[static_cast<std::size_t>(i)]));
    gpus.pointers.push_back(gpus.owned.back().get());
  }
  return gpus;
}

}  // namespace lockstep::testing
