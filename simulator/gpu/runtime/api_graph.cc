// CUDA runtime: capture of streams into graphs, and their launches.
#include "simulator/gpu/runtime/runtime.h"

using namespace lockstep::sim;

namespace {

template <typename Use>
cudaError_t with_stream(cudaStream_t handle, const Use& use) {
  if (const cudaError_t status = ready_to_call()) return status;
  Stream* const stream = stream_behind(handle);
  return stream == nullptr ? cudaErrorInvalidResourceHandle : use(stream);
}

cudaError_t list_nodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count) {
  if (const cudaError_t status = ready_to_call()) return status;
  if (count == nullptr || !runtime().captures.graphs.valid(graph)) return cudaErrorInvalidValue;
  const auto& all = graph->body->nodes;
  if (nodes == nullptr) {
    *count = all.size();
    return cudaSuccess;
  }
  for (std::size_t i = 0; i < *count; ++i) nodes[i] = i < all.size() ? const_cast<cudaGraphNode_t>(&all[i]) : nullptr;
  *count = std::min(*count, all.size());
  return cudaSuccess;
}

cudaError_t instantiate(cudaGraphExec_t* out, cudaGraph_t graph, unsigned long long flags) {
  if (const cudaError_t status = ready_to_call()) return status;
  Runtime& here = runtime();
  if (out == nullptr || !here.captures.graphs.valid(graph)) return cudaErrorInvalidValue;
  if (flags != 0) return cudaErrorNotSupported;
  CUgraphExec_st* const made = here.captures.executables.take();
  made->body = graph->body;
  made->last = {};
  made->lanes.assign(1, nullptr);  // the first lane is the stream it is launched on
  for (std::size_t lane = 1; lane < graph->body->devices.size(); ++lane) {
    made->lanes.push_back(here.executor.create_stream(graph->body->devices[lane], cudaStreamNonBlocking, false));
  }
  made->alive.store(true, std::memory_order_release);
  *out = made;
  return cudaSuccess;
}

cudaError_t launch_graph(cudaGraphExec_t graph, Stream* stream) {
  Runtime& here = runtime();
  if (!here.captures.executables.valid(graph)) return cudaErrorInvalidValue;
  for (const int device : graph->body->devices) {
    if (const cudaError_t status = here.executor.error(device)) return status;
  }
  if (here.captures.any()) {
    if (const cudaError_t status = here.captures.refuse(stream)) return status;
  }
  if (graph->body->nodes.empty()) return cudaSuccess;
  const std::lock_guard lock(graph->mutex);
  if (stream->device != graph->body->devices.front() && graph->lanes.front() == nullptr) {
    graph->lanes.front() = here.executor.create_stream(graph->body->devices.front(), cudaStreamNonBlocking, false);
  }
  graph->last = here.executor.append_graph(stream, graph->body, graph->lanes, graph->last);
  return cudaSuccess;
}

cudaError_t destroy_executable(cudaGraphExec_t graph) {
  if (const cudaError_t status = ready_to_call()) return status;
  Runtime& here = runtime();
  if (!here.captures.executables.valid(graph)) return cudaErrorInvalidValue;
  graph->alive.store(false, std::memory_order_release);
  for (Stream* lane : graph->lanes) {
    if (lane != nullptr) here.executor.destroy_stream(lane);
  }
  graph->body.reset();  // launches that still run keep what they need
  graph->lanes.clear();
  here.captures.executables.put_back(graph);
  return cudaSuccess;
}

cudaError_t destroy_graph(cudaGraph_t graph) {
  if (const cudaError_t status = ready_to_call()) return status;
  Runtime& here = runtime();
  if (!here.captures.graphs.valid(graph)) return cudaErrorInvalidValue;
  graph->alive.store(false, std::memory_order_release);
  graph->body.reset();
  here.captures.graphs.put_back(graph);
  return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode) {
  return called(__func__, [&] { return with_stream(stream, [&](Stream* behind) { return runtime().captures.begin(behind, mode); }); });
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* pGraph) {
  return called(__func__, [&] { return with_stream(stream, [&](Stream* behind) { return runtime().captures.end(behind, pGraph); }); });
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus* pCaptureStatus) {
  return called(__func__,
                [&] { return with_stream(stream, [&](Stream* behind) { return runtime().captures.status(behind, pCaptureStatus); }); });
}
cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode* mode) {
  return called(__func__, [&] { return runtime().captures.exchange_mode(mode); });
}
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* numNodes) {
  return called(__func__, [&] { return list_nodes(graph, nodes, numNodes); });
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* pGraphExec, cudaGraph_t graph, unsigned long long flags) {
  return called(__func__, [&] { return instantiate(pGraphExec, graph, flags); });
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t graphExec, cudaStream_t stream) {
  return called(__func__, [&] { return with_stream(stream, [&](Stream* behind) { return launch_graph(graphExec, behind); }); });
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graphExec) {
  return called(__func__, [&] { return destroy_executable(graphExec); });
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return called(__func__, [&] { return destroy_graph(graph); });
}
}
