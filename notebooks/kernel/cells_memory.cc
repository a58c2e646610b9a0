// operator new of cells and of the libraries they use: a large allocation checks the memory bound first.
#include <cstdlib>
#include <new>

#include "notebooks/kernel/memory_bound.h"

void* operator new(std::size_t size) {
  constexpr std::size_t kLarge = std::size_t{16} << 20;
  if (size >= kLarge) lockstep::kernel::check_memory(size);
  for (;;) {
    if (void* const memory = std::malloc(size == 0 ? 1 : size)) return memory;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
