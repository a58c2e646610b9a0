// CUDA's words for functions and variables, as the host compiler takes them.
//
// Kernels go into an ELF section of their own, so that a program or a test can list them; all that they call is inlined
// (flatten), so that the bodies of their loops vectorise.
#pragma once

// NOLINTBEGIN(bugprone-reserved-identifier): the names are CUDA's.
#define __host__
#define __device__
#define __global__ __attribute__((section("lockstep_kernels"), noinline, flatten, used, visibility("default")))
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)

// The blocks that a worker runs come one after another, so what a block shares may live with the worker's thread.
#define __shared__ static thread_local
// NOLINTEND(bugprone-reserved-identifier)
