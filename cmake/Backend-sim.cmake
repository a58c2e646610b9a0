# The virtual GPU: CUDA, cuBLASLt, cuDNN and NCCL on the CPU (oneDNN, threads, fibers).
find_package(oneDNN 2.2 REQUIRED)
find_package(Boost REQUIRED COMPONENTS context)

# Headers a kernel or the engine sees: NVIDIA's names, and <backend/...>, whose twin is engine/cuda/backend.
add_library(lockstep_gpu_api INTERFACE)
target_include_directories(lockstep_gpu_api INTERFACE
  ${PROJECT_SOURCE_DIR}/simulator/gpu/include ${PROJECT_SOURCE_DIR}/simulator/gpu)
target_link_libraries(lockstep_gpu_api INTERFACE lockstep_settings)

# Kernels are one shared library, built once for each x86-64 level; the loader picks (glibc-hwcaps).
function(lockstep_add_kernels target)
  set(levels v2)
  if(NOT LOCKSTEP_SANITIZE)
    list(APPEND levels v3 v4)
  endif()
  set_source_files_properties(${ARGN} PROPERTIES LANGUAGE CXX COMPILE_OPTIONS "-xc++")
  # The block and thread a kernel sees while it runs live beside the kernels, below everything else.
  lockstep_sources(context ${PROJECT_SOURCE_DIR}/simulator/gpu/backend/*.cc)
  foreach(level ${levels})
    if(level STREQUAL v2)
      set(name ${target})
      set(folder ${PROJECT_BINARY_DIR}/lib)
    else()
      set(name ${target}_${level})
      set(folder ${PROJECT_BINARY_DIR}/lib/glibc-hwcaps/x86-64-${level})
    endif()
    add_library(${name} SHARED ${ARGN} ${context})
    target_link_libraries(${name} PUBLIC lockstep_gpu_api)
    # errno and trap flags cost vectorisation (a square root may set them) and change no bits.
    target_compile_options(${name} PRIVATE -march=x86-64-${level} -O3 -fno-math-errno -fno-trapping-math)
    if(level STREQUAL v4)  # g++ 12 warns of its own header's `__m512 y = y`, which is how it says "any value" (GCC bug 105593)
      target_compile_options(${name} PRIVATE -Wno-maybe-uninitialized -Wno-uninitialized)
    endif()
    set_target_properties(${name} PROPERTIES OUTPUT_NAME ${target} LIBRARY_OUTPUT_DIRECTORY ${folder})
    if(NOT level STREQUAL v2)
      add_dependencies(${target} ${name})
    endif()
  endforeach()
endfunction()

# The same kernels as PTX from nvcc, for simulator/gpu/ptx: a file for each source, in `folder`.
function(lockstep_add_kernel_ptx target folder)
  execute_process(COMMAND ${LOCKSTEP_NVCC} --version OUTPUT_VARIABLE version)
  set(flags -std=c++20 --fmad=false -lineinfo)
  if(version MATCHES "release (1[3-9]|[2-9][0-9])")
    list(APPEND flags -static-global-template-stub=false)
  endif()
  set(notes ${CMAKE_CURRENT_BINARY_DIR}/${target})  # what each depends on; `folder` goes into bundles
  file(MAKE_DIRECTORY ${folder} ${notes})
  set(made "")
  foreach(kernel ${ARGN})
    get_filename_component(name ${kernel} NAME_WE)
    add_custom_command(OUTPUT ${folder}/${name}.ptx COMMAND ${LOCKSTEP_NVCC} -ptx -arch=sm_75 ${flags} -MD -MF ${notes}/${name}.d
        -I${PROJECT_SOURCE_DIR} -I${PROJECT_SOURCE_DIR}/engine/cuda ${kernel} -o ${folder}/${name}.ptx
      DEPENDS ${kernel} DEPFILE ${notes}/${name}.d VERBATIM)
    list(APPEND made ${folder}/${name}.ptx)
  endforeach()
  add_custom_target(${target} DEPENDS ${made})
endfunction()
