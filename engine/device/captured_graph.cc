// Capture and launch of graphs.
#include "engine/device/captured_graph.h"

#include <utility>

#include "engine/device/check.h"

namespace lockstep {
namespace {

struct GraphHolder {  // the recipe: not needed once it can be launched
  cudaGraph_t graph = nullptr;
  ~GraphHolder() {
    if (graph != nullptr) static_cast<void>(cudaGraphDestroy(graph));
  }
};

}  // namespace

CapturedGraph::CapturedGraph(cudaGraph_t graph) { LOCKSTEP_CHECK(cudaGraphInstantiate(&executable_, graph, 0)); }

CapturedGraph::~CapturedGraph() {
  if (executable_ != nullptr) static_cast<void>(cudaGraphExecDestroy(executable_));
}

CapturedGraph::CapturedGraph(CapturedGraph&& other) noexcept : executable_(std::exchange(other.executable_, nullptr)) {}

CapturedGraph& CapturedGraph::operator=(CapturedGraph&& other) noexcept {
  std::swap(executable_, other.executable_);
  return *this;
}

void CapturedGraph::launch(const Stream& stream) const {
  if (executable_ == nullptr) return;
  const DeviceGuard guard(stream.device());
  LOCKSTEP_CHECK(cudaGraphLaunch(executable_, stream.get()));
}

// Calls of other threads (another replica that allocates, say) do not concern this capture: the mode is that of this thread.
StreamCapture::StreamCapture(const Stream& stream) : stream_(&stream) {
  const DeviceGuard guard(stream.device());
  LOCKSTEP_CHECK(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal));
  open_ = true;
}

StreamCapture::~StreamCapture() {
  if (!open_) return;
  GraphHolder unwanted;
  static_cast<void>(cudaStreamEndCapture(stream_->get(), &unwanted.graph));
  static_cast<void>(cudaGetLastError());  // that it can't be used is known
}

bool StreamCapture::refused() const {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  LOCKSTEP_CHECK(cudaStreamIsCapturing(stream_->get(), &status));
  return status == cudaStreamCaptureStatusInvalidated;
}

CapturedGraph StreamCapture::end() {
  open_ = false;  // whatever the call says, the capture is over
  GraphHolder made;
  LOCKSTEP_CHECK(cudaStreamEndCapture(stream_->get(), &made.graph));
  std::size_t nodes = 0;
  LOCKSTEP_CHECK(cudaGraphGetNodes(made.graph, nullptr, &nodes));
  return nodes == 0 ? CapturedGraph() : CapturedGraph(made.graph);
}

}  // namespace lockstep
