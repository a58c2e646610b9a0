// Keeps what streams were given, in their order: a test compares the lists of two runs.
//
// Off, it costs a comparison for each operation. What a graph's launch puts on a stream is kept operation by operation, too.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "simulator/gpu/runtime/queue.h"

namespace lockstep::sim {

// An address is a place in its allocation: those differ from run to run.
struct RecordedTouch {
  Touch touch;
  const void* block = nullptr;  // the allocation it lies in; null: memory of the host that was not page-locked by CUDA
};

struct RecordedOperation {
  NodeKind kind = NodeKind::operation;
  OperationKind operation = OperationKind::kernel;  // where the kind is `operation`
  std::string name;
  Cost cost;
  dim3 grid, block;
  std::vector<RecordedTouch> touches;
  bool watching = false;       // see watching.h
  Stream* stream = nullptr;    // a handle: the stream may be gone
  std::uint64_t sequence = 0;  // in its stream
  Moment waits_for;            // of a wait: the record that it waits for; no stream where the event was never recorded
};

class Recorder {
 public:
  bool on() const { return on_.load(std::memory_order_relaxed); }
  void start();
  std::vector<RecordedOperation> take();  // in the order of the calls, as far as there is one between threads

  void add(Node& node);  // as it goes to its stream

 private:
  std::atomic<bool> on_{false};
  std::mutex mutex_;
  std::vector<RecordedOperation> operations_;
};

// The one of this process.
Recorder& recorder();

}  // namespace lockstep::sim
