// NVIDIA's library plans for a GPU that is described to it (since 9.8 or so), with no GPU and no handle.
#include <string>

#include "tests/conformance/cudnn_plans.h"

namespace lockstep::test {
namespace {

const std::string kTeslaT4 =
    R"({"cudaDeviceId":0,"deviceId":0,"deviceVer":750,"driverVer":13000,"totalGlobalMem":15843721216,)"
    R"("maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64],"regsPerBlock":65536,"multiProcessorCount":40,"warpSize":32,)"
    R"("maxSharedMemoryPerBlock":49152,"maxSharedMemoryPerBlockOptin":65536,"reservedSharedMemoryPerBlock":0,"maxRegistersPerSM":65536,)"
    R"("maxCtasPerSM":16,"maxThreadsPerBlock":1024,"maxThreadsPerSM":1024,"pciDeviceId":30,"isTccDriver":0,"supportCoopLaunch":1,)"
    R"("smClockRateKHz":1590000,"memClockRateKHz":5001000,"l2CacheSize":4194304,"deviceName":"Tesla T4"})";

}  // namespace

void for_a_t4(Descriptor& /*graph*/) {}

bool has_plan_for_a_t4(const Descriptor& graph) {
  Descriptor device(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  device.set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, static_cast<std::int64_t>(kTeslaT4.size()), kTeslaT4.data());
  if (device.finalize() != CUDNN_STATUS_SUCCESS) return false;
  const cudnnBackendDescriptor_t t4 = device.raw();
  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_FALLBACK, CUDNN_HEUR_MODE_A}) {
    Descriptor heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    const cudnnBackendDescriptor_t raw = graph.raw();
    heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw);
    heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
    heuristic.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &t4);
    if (heuristic.finalize() != CUDNN_STATUS_SUCCESS) continue;
    for (const Descriptor& configuration : configurations(heuristic)) {
      Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
      const cudnnBackendDescriptor_t choice = configuration.raw();
      plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &choice);
      plan.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &t4);
      if (plan.finalize() == CUDNN_STATUS_SUCCESS) return true;
    }
  }
  return false;
}

}  // namespace lockstep::test
