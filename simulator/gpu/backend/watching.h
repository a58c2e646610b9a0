// Work that only watches a step: events that measure it, kernels that compute figures from it, copies of those. The step itself is the same
// without it.
//
// While a Watching exists, the operations that its thread issues carry a tag. The virtual GPU keeps the tag with each operation
// (runtime/recorder.h), so that a test can leave out the tagged ones and compare: runs that are traced, checked or verbose
// must issue the operations of a plain run. Tagged operations write no memory that the step uses.
// CUDA twin: engine/cuda/backend/watching.h.
#pragma once

namespace lockstep {

class Watching {
 public:
  Watching();
  ~Watching();
  Watching(const Watching&) = delete;
  Watching& operator=(const Watching&) = delete;
};

namespace sim {
bool is_watching();  // this thread has a Watching
}

}  // namespace lockstep
