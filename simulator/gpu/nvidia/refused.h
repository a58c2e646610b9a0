// What a function answers that NVIDIA's library has and this one does not: "not supported", and its name once on stderr.
//
// The file with these functions is made from symbols/LIBRARY.txt. They are weak, so a function that is written takes the place of its own,
// and the symbol table of the library says which are left (lockstep exec --manifest reads it).
#pragma once

#include <atomic>
#include <cstdio>

namespace lockstep::nvidia {

inline int refused(const char* library, const char* function, int status, std::atomic<bool>& said) {
  if (!said.exchange(true)) std::fprintf(stderr, "virtual GPU: %s of %s is not supported.\n", function, library);
  return status;
}

}  // namespace lockstep::nvidia

#define LOCKSTEP_REFUSED(library, function, status)                            \
  extern "C" __attribute__((weak, visibility("default"))) int function(void) { \
    static std::atomic<bool> said{false};                                      \
    return lockstep::nvidia::refused(library, #function, status, said);        \
  }

// A second name of the same function, as NCCL's pncclX of ncclX (for tools that take the place of the first).
#define LOCKSTEP_SAME_AS(name, function) __asm__(".text\n.weak " #name "\n.type " #name ", @function\n" #name ": jmp " #function "@PLT\n");
