// What an operation costs: the model clock turns it into time, the executor into a number of parts.
#pragma once

namespace lockstep {

struct Cost {
  double flops = 0;
  double bytes = 0;  // read plus written
};

// Hands name and cost to the next cudaLaunchKernelEx of this thread. The name is not copied: give a literal.
void annotate_next_launch(const char* name, Cost cost);

}  // namespace lockstep
