# Compiler settings shared by all targets of the project.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE})
endif()
find_package(Threads REQUIRED)

# Same bits everywhere: no contraction behind our back (kernels say fma where they mean it), no fast-math.
add_library(lockstep_settings INTERFACE)
target_compile_options(lockstep_settings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Werror -ffp-contract=off>)
if(CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 12 AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # g++ 12 sees overlapping copies in plain `"text" + std::string` (GCC bug 105651).
  target_compile_options(lockstep_settings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
target_link_libraries(lockstep_settings INTERFACE Threads::Threads)
if(LOCKSTEP_SANITIZE)
  target_compile_options(lockstep_settings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${LOCKSTEP_SANITIZE} -fno-omit-frame-pointer>)
  target_link_options(lockstep_settings INTERFACE -fsanitize=${LOCKSTEP_SANITIZE})
  if(LOCKSTEP_SANITIZE MATCHES address) # with it g++ 12 warns about its own <regex> (its bug 105562)
    target_compile_options(lockstep_settings INTERFACE $<$<CXX_COMPILER_ID:GNU>:$<$<COMPILE_LANGUAGE:CXX>:-Wno-maybe-uninitialized>>)
  endif()
endif()

# Sources of one folder; new files are noticed at the next build.
function(lockstep_sources out)
  file(GLOB found CONFIGURE_DEPENDS ${ARGN})
  set(${out} ${found} PARENT_SCOPE)
endfunction()
