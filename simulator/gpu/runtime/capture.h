// Stream capture: streams whose calls become nodes of a graph instead of running.
//
// A capture begins on one stream and spreads by events: a stream that waits for an event which was recorded in the capture joins
// it. What would make captured work depend on work that really runs (waiting for it on the host, an event from outside, the legacy
// stream) is refused and makes the capture invalid, as NVIDIA documents it. Work that the virtual GPU cannot replay
// (collectives, stream-ordered allocation, copies from or to pageable memory, graphs) is refused in the same way.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "simulator/gpu/runtime/graph.h"
#include "simulator/gpu/runtime/slots.h"

namespace lockstep::sim {

class Captures {
 public:
  bool any() const { return active_.load(std::memory_order_relaxed) > 0; }             // a stream is capturing
  bool any_event() const { return events_held_.load(std::memory_order_relaxed) > 0; }  // an event was recorded in a capture

  cudaError_t begin(Stream* stream, cudaStreamCaptureMode mode);
  cudaError_t end(Stream* stream, cudaGraph_t* graph);
  cudaError_t status(Stream* stream, cudaStreamCaptureStatus* status);
  cudaError_t exchange_mode(cudaStreamCaptureMode* mode);

  // Of a stream that is about to be given this node: true if the capture took it, or refused it with a status.
  bool take(Stream* stream, Node& node, cudaError_t* status);
  // An event is recorded on a stream, or a stream waits for an event: true if the capture handled the call.
  bool record(Event* event, Stream* stream, cudaError_t* status);
  bool wait(Stream* stream, Event* event, cudaError_t* status);

  // Calls that a capture does not allow make it invalid; cudaSuccess if there is none in the way.
  cudaError_t refuse(Stream* stream);               // something done to the stream itself
  cudaError_t refuse_legacy(const Stream* stream);  // work for the legacy stream, which blocking streams would depend on
  cudaError_t refuse_event(const Event* event);
  cudaError_t refuse_device(int device);
  cudaError_t refuse_unsafe();  // calls that may wait for other work, such as cudaMalloc
  void forget(Event* event);    // recorded outside, or destroyed
  void forget(Stream* stream);  // destroyed

  Slots<CUgraph_st> graphs;
  Slots<CUgraphExec_st> executables;

 private:
  // How much of each lane comes before a point, in nodes. Lanes are in order, so these numbers say everything.
  using Progress = std::vector<std::size_t>;
  struct Capture {
    Stream* origin = nullptr;
    cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
    std::thread::id thread;
    bool valid = true;
    bool open = true;
    std::vector<CUgraphNode_st> nodes;
    std::vector<Stream*> lanes;                        // the first one is the origin
    std::vector<std::vector<std::size_t>> lane_nodes;  // of each lane, in order
    std::vector<Progress> now;                         // before the lane's next node
    std::vector<Progress> known;                       // before the lane's last node
  };
  struct Recorded {
    std::shared_ptr<Capture> capture;
    Progress before;
  };

  static std::size_t lane_of(Capture& capture, Stream* stream);  // a new one if need be
  std::shared_ptr<Capture> of(const Stream* stream) const;
  cudaError_t invalidate(Capture& capture, cudaError_t status);
  void close(const std::shared_ptr<Capture>& capture);

  mutable std::mutex mutex_;
  std::map<const Stream*, std::shared_ptr<Capture>> by_stream_;
  std::map<const Event*, Recorded> by_event_;
  std::atomic<int> active_{0}, events_held_{0};
};

}  // namespace lockstep::sim
