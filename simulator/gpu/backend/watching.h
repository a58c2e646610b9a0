// Work that only watches a step: events that measure it, kernels that make figures of it, copies of those. A step does the same without.
//
// While a Watching lives, what its thread gives to streams carries that tag. The virtual GPU keeps the tag with each operation
// (runtime/recorder.h), so that a test can take the tagged ones away and compare what is left: runs that are traced, checked or verbose
// must be left with the operations of a plain run. Tagged operations write no memory that the step uses.
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
bool is_watching();  // a Watching of this thread lives
}

}  // namespace lockstep
