# oneDNN, by its header and library. Its own CMake package, as Debian has it, asks for OpenCL, which nothing here uses.
# Defines DNNL::dnnl, as that package does.
include(FindPackageHandleStandardArgs)
include(LockstepFind)
find_path(oneDNN_INCLUDE_DIR oneapi/dnnl/dnnl.hpp HINTS ${DNNL_ROOT} ENV DNNL_ROOT PATH_SUFFIXES include)
find_library(oneDNN_LIBRARY dnnl HINTS ${DNNL_ROOT} ENV DNNL_ROOT PATH_SUFFIXES lib lib64)
if(oneDNN_INCLUDE_DIR)
  set(header ${oneDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h)
  lockstep_header_number(major ${header} DNNL_VERSION_MAJOR)
  lockstep_header_number(minor ${header} DNNL_VERSION_MINOR)
  lockstep_header_number(patch ${header} DNNL_VERSION_PATCH)
  set(oneDNN_VERSION ${major}.${minor}.${patch})
endif()
find_package_handle_standard_args(oneDNN
  REQUIRED_VARS oneDNN_LIBRARY oneDNN_INCLUDE_DIR
  VERSION_VAR oneDNN_VERSION
  REASON_FAILURE_MESSAGE "install libdnnl-dev, or set DNNL_ROOT to the folder that has include/oneapi/dnnl/dnnl.hpp and lib/libdnnl.so")
if(oneDNN_FOUND AND NOT TARGET DNNL::dnnl)
  add_library(DNNL::dnnl UNKNOWN IMPORTED)
  set_target_properties(DNNL::dnnl PROPERTIES
    IMPORTED_LOCATION ${oneDNN_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${oneDNN_INCLUDE_DIR})
endif()
mark_as_advanced(oneDNN_INCLUDE_DIR oneDNN_LIBRARY)
