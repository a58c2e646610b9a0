// Compiled with the toolkit's headers alone.
#include <cuda_runtime_api.h>

#define LAYOUT nvidias_layout
#include "tests/simulator/gpu/nvidia/layout/fields.inl"
