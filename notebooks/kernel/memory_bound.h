// How much memory cells may take: LOCKSTEP_NOTEBOOK_MEMORY in GiB, else three quarters of what the machine or the container has.
//
// Memory in use is counted, not addresses: the virtual GPU reserves far more addresses than it uses. Loops and large allocations of a
// cell check the bound and throw; other growth is detected by the process that talks to Jupyter, which ends the C++ process.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <new>
#include <string>

namespace lockstep::kernel {

std::size_t memory_bound();
std::size_t memory_in_use(pid_t process = 0);  // 0: of this one
std::string tell_bytes(std::size_t bytes);     // "1.5 GiB"

class TooMuchMemory : public std::bad_alloc {
 public:
  const char* what() const noexcept override;
};

void check_memory(std::size_t wanted);  // throws TooMuchMemory

}  // namespace lockstep::kernel
