# NVIDIA GPUs: nvcc for the kernels, the host compiler for everything else, cuBLASLt, cuDNN 9 and NCCL from wherever they are.
# Nothing here needs a GPU: a machine with the toolkit alone builds and links all of it.

# Before enable_language: an older CMake would otherwise try an architecture that CUDA 13 no longer knows.
if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 75 80-real 90 CACHE STRING "T4, A100, H100; PTX for what comes after, and for the virtual GPU")
endif()
if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  find_program(LOCKSTEP_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda /opt/cuda PATH_SUFFIXES bin)
  if(NOT LOCKSTEP_NVCC)
    message(FATAL_ERROR "The cuda preset needs nvcc and found none on PATH, in CUDA_HOME or in /usr/local/cuda. "
      "Install the CUDA toolkit (12.4 or newer) or use the preset sim.")
  endif()
  set(CMAKE_CUDA_COMPILER ${LOCKSTEP_NVCC} CACHE FILEPATH "nvcc")
endif()
enable_language(CUDA)
if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12.4)
  message(FATAL_ERROR "Lockstep needs CUDA 12.4 or newer; ${CMAKE_CUDA_COMPILER} is ${CMAKE_CUDA_COMPILER_VERSION}. "
    "Point CUDA_HOME at a newer toolkit or use the preset sim.")
endif()
# CMake before 3.26 does not know that nvcc speaks C++20 since 12.0.
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)
set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)
find_package(CUDAToolkit 12.4 REQUIRED)
find_package(cuDNN 9 REQUIRED)
find_package(NCCL 2.20 REQUIRED)

# Headers a kernel or the engine sees: <backend/...> here is engine/cuda/backend, whose twin is simulator/gpu/backend.
add_library(lockstep_gpu_api INTERFACE)
target_include_directories(lockstep_gpu_api INTERFACE ${PROJECT_SOURCE_DIR}/engine/cuda)
target_include_directories(lockstep_gpu_api SYSTEM INTERFACE
  ${CUDAToolkit_INCLUDE_DIRS} ${cuDNN_INCLUDE_DIR} ${NCCL_INCLUDE_DIR})
target_link_libraries(lockstep_gpu_api INTERFACE lockstep_settings)

# No contraction here either: a kernel that means fma says fmaf, so CPU and GPU compute the same formula.
target_compile_options(lockstep_gpu_api INTERFACE
  "$<$<COMPILE_LANGUAGE:CUDA>:--fmad=false;-Werror=all-warnings;-Xcompiler=-Wall,-Wextra,-Werror,-ffp-contract=off>")
if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
  # Since 13 a kernel template is visible in its own file only; ours are instantiated in one file and launched from another.
  target_compile_options(lockstep_gpu_api INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:-static-global-template-stub=false>)
endif()

add_library(lockstep_gpu INTERFACE)
target_link_libraries(lockstep_gpu INTERFACE lockstep_gpu_api CUDA::cudart CUDA::cublasLt cuDNN::cuDNN NCCL::NCCL ${CMAKE_DL_LIBS})

function(lockstep_add_kernels target)
  add_library(${target} STATIC ${ARGN})
  target_link_libraries(${target} PUBLIC lockstep_gpu_api CUDA::cudart)
  # What ptxas says of registers is kept beside each object: tests/product/kernel_registers.py looks for spills.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-Xptxas=-v>)
  set_target_properties(${target} PROPERTIES RULE_LAUNCH_COMPILE "${PROJECT_SOURCE_DIR}/cmake/keep_ptxas_words.sh <OBJECT>")
endfunction()
