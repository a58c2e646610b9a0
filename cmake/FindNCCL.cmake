# NCCL, in the CUDA toolkit, in the system's folders or in Python wheels. A wheel has libnccl.so.2 and no libnccl.so: linked by file.
# NCCL_ROOT and NCCL_ROOT (variables or environment) come first. Defines NCCL::NCCL.
include(FindPackageHandleStandardArgs)
include(LockstepFind)
lockstep_wheel_folders(wheel_includes include)
lockstep_wheel_folders(wheel_libraries lib)

find_path(NCCL_INCLUDE_DIR nccl.h
  HINTS ${NCCL_ROOT} ENV NCCL_ROOT ${CUDAToolkit_INCLUDE_DIRS} PATHS ${wheel_includes} PATH_SUFFIXES include)
find_library(NCCL_LIBRARY NAMES nccl libnccl.so.2
  HINTS ${NCCL_ROOT} ENV NCCL_ROOT ${CUDAToolkit_LIBRARY_DIR} PATHS ${wheel_libraries} PATH_SUFFIXES lib lib64)

if(NCCL_INCLUDE_DIR)
  set(header ${NCCL_INCLUDE_DIR}/nccl.h)
  lockstep_header_number(major ${header} NCCL_MAJOR)
  lockstep_header_number(minor ${header} NCCL_MINOR)
  lockstep_header_number(patch ${header} NCCL_PATCH)
  set(NCCL_VERSION ${major}.${minor}.${patch})
endif()
find_package_handle_standard_args(NCCL
  REQUIRED_VARS NCCL_LIBRARY NCCL_INCLUDE_DIR
  VERSION_VAR NCCL_VERSION
  REASON_FAILURE_MESSAGE "install NCCL 2.20 or newer (package libnccl-dev, or pip install nvidia-nccl-cu12), or set NCCL_ROOT to the folder that has include/nccl.h and lib/libnccl.so.2")

if(NCCL_FOUND AND NOT TARGET NCCL::NCCL)
  add_library(NCCL::NCCL UNKNOWN IMPORTED)
  set_target_properties(NCCL::NCCL PROPERTIES
    IMPORTED_LOCATION ${NCCL_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${NCCL_INCLUDE_DIR})
endif()
mark_as_advanced(NCCL_INCLUDE_DIR NCCL_LIBRARY)
