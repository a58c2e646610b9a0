// CUDA twin of simulator/gpu/backend/cost.h. A real GPU keeps its own time, so nobody listens to costs here.
#pragma once

namespace lockstep {

// What an operation costs; the virtual GPU's model clock turns it into time.
struct Cost {
  double flops = 0;
  double bytes = 0;  // read plus written
};

inline void annotate_next_launch(const char* /*name*/, Cost /*cost*/) {}

}  // namespace lockstep
