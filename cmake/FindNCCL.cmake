# NCCL. Defines NCCL::NCCL.
include(LockstepFind)
lockstep_find_library(NCCL NCCL::NCCL HEADER nccl.h LIBRARIES nccl libnccl.so.2 ROOT NCCL_ROOT
  VERSION nccl.h NCCL_MAJOR NCCL_MINOR NCCL_PATCH
  MISSING "install NCCL 2.20 or newer (package libnccl-dev, or pip install nvidia-nccl-cu12), or set NCCL_ROOT to the folder that has include/nccl.h and lib/libnccl.so.2")
