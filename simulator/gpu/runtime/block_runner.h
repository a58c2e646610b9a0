// Faithful kernels: every thread of a block is a fiber, and barriers are real.
//
// Between two barriers the threads run one after another, in a random order that differs each time, so a missing barrier shows as a
// wrong result under some seed. A barrier that not all threads reach is a fault.
#pragma once

#include "simulator/gpu/runtime/queue.h"

namespace lockstep::sim {

// Runs the blocks of one part. Throws a Fault.
void run_faithful(KernelCall& call, int part, int parts);

}  // namespace lockstep::sim
