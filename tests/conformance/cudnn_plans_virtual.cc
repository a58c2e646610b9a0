// The virtual library plans for the machine there is: by default one with a Tesla T4.
#include "tests/conformance/cudnn_plans.h"

namespace lockstep::test {
namespace {

cudnnHandle_t handle() {
  static const cudnnHandle_t one = [] {
    cudnnHandle_t made = nullptr;
    cudnnCreate(&made);
    return made;
  }();
  return one;
}

}  // namespace

void for_a_t4(Descriptor& graph) {
  const cudnnHandle_t raw = handle();
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &raw);
}

bool has_plan_for_a_t4(const Descriptor& graph) {
  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_FALLBACK, CUDNN_HEUR_MODE_A}) {
    Descriptor heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    const cudnnBackendDescriptor_t raw = graph.raw();
    heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw);
    heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
    if (heuristic.finalize() != CUDNN_STATUS_SUCCESS) continue;
    for (const Descriptor& configuration : configurations(heuristic)) {
      Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
      const cudnnBackendDescriptor_t choice = configuration.raw();
      plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &choice);
      const cudnnHandle_t here = handle();
      plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &here);
      if (plan.finalize() == CUDNN_STATUS_SUCCESS) return true;
    }
  }
  return false;
}

}  // namespace lockstep::test
