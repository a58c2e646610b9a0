# cuDNN. cuDNN_ROOT, which find_package itself reads, comes first too. Defines cuDNN::cuDNN.
include(LockstepFind)
lockstep_find_library(cuDNN cuDNN::cuDNN HEADER cudnn.h LIBRARIES cudnn libcudnn.so.9 ROOT CUDNN_ROOT
  VERSION cudnn_version.h CUDNN_MAJOR CUDNN_MINOR CUDNN_PATCHLEVEL
  MISSING "install cuDNN 9 (Debian package libcudnn9-dev-cuda-12, or pip install nvidia-cudnn-cu12), or set CUDNN_ROOT to the folder that has include/cudnn.h and lib/libcudnn.so.9")
