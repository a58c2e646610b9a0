# cuDNN, in the CUDA toolkit, in the system's folders or in Python wheels. A wheel has libcudnn.so.9 and no libcudnn.so: linked by file.
# CUDNN_ROOT and cuDNN_ROOT (variables or environment) come first. Defines cuDNN::cuDNN.
include(FindPackageHandleStandardArgs)
include(LockstepFind)
lockstep_wheel_folders(wheel_includes include)
lockstep_wheel_folders(wheel_libraries lib)

find_path(cuDNN_INCLUDE_DIR cudnn.h
  HINTS ${CUDNN_ROOT} ENV CUDNN_ROOT ${CUDAToolkit_INCLUDE_DIRS} PATHS ${wheel_includes} PATH_SUFFIXES include)
find_library(cuDNN_LIBRARY NAMES cudnn libcudnn.so.9
  HINTS ${CUDNN_ROOT} ENV CUDNN_ROOT ${CUDAToolkit_LIBRARY_DIR} PATHS ${wheel_libraries} PATH_SUFFIXES lib lib64)

if(cuDNN_INCLUDE_DIR)
  set(header ${cuDNN_INCLUDE_DIR}/cudnn_version.h)
  lockstep_header_number(major ${header} CUDNN_MAJOR)
  lockstep_header_number(minor ${header} CUDNN_MINOR)
  lockstep_header_number(patch ${header} CUDNN_PATCHLEVEL)
  set(cuDNN_VERSION ${major}.${minor}.${patch})
endif()
find_package_handle_standard_args(cuDNN
  REQUIRED_VARS cuDNN_LIBRARY cuDNN_INCLUDE_DIR
  VERSION_VAR cuDNN_VERSION
  REASON_FAILURE_MESSAGE "install cuDNN 9 (Debian package libcudnn9-dev-cuda-12, or pip install nvidia-cudnn-cu12), or set CUDNN_ROOT to the folder that has include/cudnn.h and lib/libcudnn.so.9")

if(cuDNN_FOUND AND NOT TARGET cuDNN::cuDNN)
  add_library(cuDNN::cuDNN UNKNOWN IMPORTED)
  set_target_properties(cuDNN::cuDNN PROPERTIES
    IMPORTED_LOCATION ${cuDNN_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${cuDNN_INCLUDE_DIR})
endif()
mark_as_advanced(cuDNN_INCLUDE_DIR cuDNN_LIBRARY)
