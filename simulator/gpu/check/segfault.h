// Explains a host dereference of device memory before the process ends by it, and lets guarded kernels go on (guarded_memory.h).
#pragma once

namespace lockstep::sim {

// For the life of the process. Faults that have nothing to do with device memory go to whoever handled them before.
void watch_for_segfaults();

}  // namespace lockstep::sim
