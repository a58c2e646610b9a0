// Functions that kernels call: on the CPU they are ordinary functions.
#pragma once

#define LOCKSTEP_HOST_DEVICE
#define LOCKSTEP_DEVICE inline
