// CUDA twin of simulator/gpu/backend/cost.h. A real GPU takes its own time, so costs are not used here.
#pragma once

namespace lockstep {

// What an operation costs; the virtual GPU's model clock turns it into time.
struct Cost {
  double flops = 0;
  double bytes = 0;  // read plus written
};

inline void annotate_next_launch(const char* /*name*/, Cost /*cost*/) {}

}  // namespace lockstep
