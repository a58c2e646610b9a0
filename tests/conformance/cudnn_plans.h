// Plans for a Tesla T4, which need not be there: NVIDIA's library gets its properties as a descriptor, the virtual one has the card.
// One implementation for each: cudnn_plans_real.cc, cudnn_plans_virtual.cc.
#pragma once

#include "tests/conformance/cudnn_probe.h"

namespace lockstep::test {

void for_a_t4(Descriptor& graph);  // before it is finalized
bool has_plan_for_a_t4(const Descriptor& graph);

// Engine configurations that a heuristic offers.
inline std::vector<Descriptor> configurations(const Descriptor& heuristic) {
  std::vector<Descriptor> offered;
  std::int64_t count = 0;
  if (heuristic.get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count, nullptr) != CUDNN_STATUS_SUCCESS)
    return offered;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (std::int64_t i = 0; i < count; ++i) {
    offered.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    raw.push_back(offered.back().raw());
  }
  if (heuristic.get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, count, &count, raw.data()) != CUDNN_STATUS_SUCCESS)
    count = 0;
  while (static_cast<std::int64_t>(offered.size()) > count) offered.pop_back();
  return offered;
}

}  // namespace lockstep::test
