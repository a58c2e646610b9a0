// Explains a host dereference of device memory before the process ends by it, and lets guarded kernels go on (guarded_memory.h).
#pragma once

namespace lockstep::sim {

// For the life of the process. Faults outside device memory go to the handler that was installed before.
void watch_for_segfaults();

}  // namespace lockstep::sim
