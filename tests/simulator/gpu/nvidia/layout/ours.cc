#include "simulator/gpu/nvidia/cudart/api.h"

#define LAYOUT our_layout
#include "tests/simulator/gpu/nvidia/layout/fields.inl"
