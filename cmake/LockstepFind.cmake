# What the Find modules share.

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
