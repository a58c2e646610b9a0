// Types of NVIDIA's runtime interface that programs made by nvcc pass and the engine does not use. Layouts are those of CUDA 13; a test
// compares them with the toolkit's headers where there is one.
#pragma once

#include <cuda_runtime.h>

// NOLINTBEGIN(modernize-use-using): the form is NVIDIA's.

typedef struct CUkern_st* cudaKernel_t;
typedef struct CUfunc_st* cudaFunction_t;
typedef void (*cudaStreamCallback_t)(cudaStream_t stream, cudaError_t status, void* userData);

struct cudaFuncAttributes {
  size_t sharedSizeBytes;
  size_t constSizeBytes;
  size_t localSizeBytes;
  int maxThreadsPerBlock;
  int numRegs;
  int ptxVersion;
  int binaryVersion;
  int cacheModeCA;
  int maxDynamicSharedSizeBytes;
  int preferredShmemCarveout;
  int cluster[6];
  int reserved[16];
};

struct cudaMemLocation {
  int type;
  int id;
};

struct cudaChannelFormatDesc {
  int x, y, z, w;
  int f;
};

// NOLINTEND(modernize-use-using)
