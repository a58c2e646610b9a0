# What the Find modules share.
include(FindPackageHandleStandardArgs)

# Folders nvidia/<library>/<subfolder> of the Python wheels that carry NVIDIA's libraries (as on Colab); empty without them.
function(lockstep_wheel_folders out subfolder)
  if(NOT DEFINED LOCKSTEP_WHEEL_ROOTS)
    set(roots "")
    find_program(LOCKSTEP_PYTHON python3)
    mark_as_advanced(LOCKSTEP_PYTHON)
    if(LOCKSTEP_PYTHON)
      execute_process(COMMAND ${LOCKSTEP_PYTHON} -c "import site, sys
print(';'.join(dict.fromkeys(p for p in sys.path + site.getsitepackages() + [site.getusersitepackages()] if p.endswith('-packages'))))"
        OUTPUT_VARIABLE roots OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    endif()
    set(LOCKSTEP_WHEEL_ROOTS "${roots}" CACHE STRING "Python folders to look for NVIDIA's wheels in")
    mark_as_advanced(LOCKSTEP_WHEEL_ROOTS)
  endif()
  set(found "")
  foreach(root ${LOCKSTEP_WHEEL_ROOTS})
    file(GLOB folders ${root}/nvidia/*/${subfolder})
    list(APPEND found ${folders})
  endforeach()
  set(${out} "${found}" PARENT_SCOPE)
endfunction()

# The value of `#define NAME <number>` in a header, or nothing.
function(lockstep_header_number out header name)
  set(value "")
  if(EXISTS "${header}")
    file(STRINGS "${header}" line REGEX "^#define[ \t]+${name}[ \t]+[0-9]+" LIMIT_COUNT 1)
    string(REGEX MATCH "[0-9]+[ \t]*$" value "${line}")
    if(NOT value)
      string(REGEX REPLACE "^#define[ \t]+${name}[ \t]+([0-9]+).*" "\\1" value "${line}")
    endif()
  endif()
  set(${out} "${value}" PARENT_SCOPE)
endfunction()

# A library found by one header and one file, in the system's folders, in the CUDA toolkit or in Python wheels; a wheel has libx.so.9 and no
# libx.so, so it is linked by file. Defines TARGET and ${package}_FOUND. lockstep_find_library(PACKAGE TARGET
#   HEADER nccl.h LIBRARIES nccl libnccl.so.2   what to look for
#   ROOT NCCL_ROOT                              a variable, or one of the environment, that names the folder to look in first
#   VERSION nccl.h NCCL_MAJOR ...               a header with the numbers of the version
#   MISSING "sentence")                         what to do where it is not found
# A macro, since find_package reads the variables that it sets.
macro(lockstep_find_library package target)
  cmake_parse_arguments(find "" "HEADER;ROOT;MISSING" "LIBRARIES;VERSION" ${ARGN})
  lockstep_wheel_folders(find_wheel_includes include)
  lockstep_wheel_folders(find_wheel_libraries lib)
  find_path(${package}_INCLUDE_DIR ${find_HEADER}
    HINTS ${${find_ROOT}} ENV ${find_ROOT} ${CUDAToolkit_INCLUDE_DIRS} PATHS ${find_wheel_includes} PATH_SUFFIXES include)
  find_library(${package}_LIBRARY NAMES ${find_LIBRARIES}
    HINTS ${${find_ROOT}} ENV ${find_ROOT} ${CUDAToolkit_LIBRARY_DIR} PATHS ${find_wheel_libraries} PATH_SUFFIXES lib lib64)
  set(${package}_VERSION "")
  if(${package}_INCLUDE_DIR)
    list(POP_FRONT find_VERSION find_header)
    foreach(find_name ${find_VERSION})
      lockstep_header_number(find_number ${${package}_INCLUDE_DIR}/${find_header} ${find_name})
      string(APPEND ${package}_VERSION ".${find_number}")
    endforeach()
    string(SUBSTRING "${${package}_VERSION}" 1 -1 ${package}_VERSION)
  endif()
  find_package_handle_standard_args(${package}
    REQUIRED_VARS ${package}_LIBRARY ${package}_INCLUDE_DIR VERSION_VAR ${package}_VERSION REASON_FAILURE_MESSAGE "${find_MISSING}")
  if(${package}_FOUND AND NOT TARGET ${target})
    add_library(${target} UNKNOWN IMPORTED)
    set_target_properties(${target} PROPERTIES
      IMPORTED_LOCATION ${${package}_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${${package}_INCLUDE_DIR})
  endif()
  mark_as_advanced(${package}_INCLUDE_DIR ${package}_LIBRARY)
endmacro()
