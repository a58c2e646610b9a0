// Faithful kernels: every thread of a block is a fiber, and barriers are real.
//
// Between two barriers the threads run one after another, in a random order that differs each time, so a missing barrier shows as a
// wrong result under some seed. A barrier that not all threads reach is a fault.
#pragma once

#include "simulator/gpu/runtime/queue.h"

namespace lockstep::sim {

// Is notified of what the threads of faithful kernels do. Blocks of one launch may run on several workers at once, each block on one.
class BlockObserver {
 public:
  virtual ~BlockObserver() = default;
  virtual void begin_block(const KernelCall& call) = 0;
  virtual void all_stopped() = 0;  // every thread of the block is at a barrier or has ended
  virtual void end_block() = 0;    // also where the block failed
};

// For blocks that begin from now on; null: none. No kernel may run during the call.
void set_block_observer(BlockObserver* observer);

// Runs the blocks of one part. Throws a Fault.
void run_faithful(KernelCall& call, int part, int parts);

}  // namespace lockstep::sim
