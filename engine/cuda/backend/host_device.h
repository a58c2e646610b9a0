// CUDA twin of simulator/gpu/backend/host_device.h: what runs on the host and on the device. The include path chooses the twin.
#pragma once

#include <cuda_runtime.h>

#define LOCKSTEP_HOST_DEVICE __host__ __device__
#define LOCKSTEP_DEVICE __device__ inline
