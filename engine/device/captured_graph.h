// Work of a stream that was captured instead of run, to be launched as often as one likes: one call for many operations.
//
// Addresses and arguments are those of the capture. The caller launches it again only while these hold.
#pragma once

#include <cuda_runtime.h>

#include "engine/device/stream.h"

namespace lockstep {

class CapturedGraph {
 public:
  CapturedGraph() = default;  // nothing: launching it does nothing
  explicit CapturedGraph(cudaGraph_t graph);
  ~CapturedGraph();
  CapturedGraph(CapturedGraph&& other) noexcept;
  CapturedGraph& operator=(CapturedGraph&& other) noexcept;

  void launch(const Stream& stream) const;
  explicit operator bool() const { return executable_ != nullptr; }

 private:
  cudaGraphExec_t executable_ = nullptr;
};

// While it lives, what the stream is given is kept and does not run. Other threads may go on with whatever they do.
class StreamCapture {
 public:
  explicit StreamCapture(const Stream& stream);
  ~StreamCapture();  // one that was not ended is thrown away, and the stream runs again
  StreamCapture(const StreamCapture&) = delete;
  StreamCapture& operator=(const StreamCapture&) = delete;

  bool refused() const;  // something was asked for that can't be captured
  CapturedGraph end();

 private:
  const Stream* stream_;
  bool open_ = false;
};

}  // namespace lockstep
