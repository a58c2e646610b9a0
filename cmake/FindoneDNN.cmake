# oneDNN. Its own CMake package, as Debian has it, asks for OpenCL, which nothing here uses. Defines DNNL::dnnl, as that package does.
include(LockstepFind)
lockstep_find_library(oneDNN DNNL::dnnl HEADER oneapi/dnnl/dnnl.hpp LIBRARIES dnnl ROOT DNNL_ROOT
  VERSION oneapi/dnnl/dnnl_version.h DNNL_VERSION_MAJOR DNNL_VERSION_MINOR DNNL_VERSION_PATCH
  MISSING "install libdnnl-dev, or set DNNL_ROOT to the folder that has include/oneapi/dnnl/dnnl.hpp and lib/libdnnl.so")
