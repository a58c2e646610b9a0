// How much memory cells may take: LOCKSTEP_NOTEBOOK_MEMORY in GiB, else three quarters of what the machine or the container has.
//
// Counted is memory in use, not addresses: the virtual GPU reserves far more of those than it touches. Loops and large allocations of a
// cell look first and throw; what grows in another way is ended from outside, by the process that talks to Jupyter.
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
