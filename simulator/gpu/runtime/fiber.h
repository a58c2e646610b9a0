// A thread of a kernel: a stack of its own that one worker thread runs in turns with others. The only place that
// uses Boost.Context, and that notifies the sanitizers when the stack changes.
#pragma once

#include <sys/mman.h>

#include <boost/context/detail/fcontext.hpp>
#include <cstddef>
#include <new>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace lockstep::sim {

class Fiber {
 public:
  Fiber() {
    void* const at = mmap(nullptr, kGuard + kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    memory_ = static_cast<std::byte*>(at);
    mprotect(memory_, kGuard, PROT_NONE);
  }
  ~Fiber() {
    drop();
    munmap(memory_, kGuard + kStack);
  }
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Gets ready to run `entry(argument)`. Where the last run was broken off in the middle, its stack is forgotten without
  // unwinding: kernels keep nothing there that would need it.
  void arm(void (*entry)(void*), void* argument) {
    entry_ = entry;
    argument_ = argument;
    if (!finished_ || inside_ == nullptr) {
      drop();
      inside_ = boost::context::detail::make_fcontext(memory_ + kGuard + kStack, kStack, &Fiber::enter);
#if defined(__SANITIZE_THREAD__)
      tsan_inside_ = __tsan_create_fiber(0);
#endif
    }
    finished_ = false;
  }

  // Runs the fiber until it yields or ends.
  void resume() {
#if defined(__SANITIZE_ADDRESS__)
    void* fake = nullptr;
    __sanitizer_start_switch_fiber(&fake, memory_ + kGuard, kStack);
#endif
#if defined(__SANITIZE_THREAD__)
    tsan_outside_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(tsan_inside_, 0);
#endif
    inside_ = boost::context::detail::jump_fcontext(inside_, this).fctx;
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
  }

  // Called on the fiber: back to where it was resumed.
  void yield() {
#if defined(__SANITIZE_ADDRESS__)
    void* fake = nullptr;
    __sanitizer_start_switch_fiber(&fake, asan_bottom_, asan_size_);
#endif
#if defined(__SANITIZE_THREAD__)
    __tsan_switch_to_fiber(tsan_outside_, 0);
#endif
    outside_ = boost::context::detail::jump_fcontext(outside_, nullptr).fctx;
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(fake, &asan_bottom_, &asan_size_);
#endif
  }

  bool finished() const { return finished_; }

 private:
  // Never returns: an ended run waits here for the next one.
  static void enter(boost::context::detail::transfer_t from) {
    auto* const self = static_cast<Fiber*>(from.data);
    self->outside_ = from.fctx;
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(nullptr, &self->asan_bottom_, &self->asan_size_);
#endif
    for (;;) {
      self->entry_(self->argument_);
      self->finished_ = true;
      self->yield();
    }
  }

  void drop() {
#if defined(__SANITIZE_ADDRESS__)
    __asan_unpoison_memory_region(memory_ + kGuard, kStack);
#endif
#if defined(__SANITIZE_THREAD__)
    if (tsan_inside_ != nullptr) __tsan_destroy_fiber(tsan_inside_);
    tsan_inside_ = nullptr;
#endif
  }

  static constexpr std::size_t kGuard = 4096;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  static constexpr std::size_t kStack = std::size_t{256} << 10;
#else
  static constexpr std::size_t kStack = std::size_t{64} << 10;
#endif

  std::byte* memory_ = nullptr;
  boost::context::detail::fcontext_t inside_ = nullptr;
  boost::context::detail::fcontext_t outside_ = nullptr;
  void (*entry_)(void*) = nullptr;
  void* argument_ = nullptr;
  bool finished_ = true;
#if defined(__SANITIZE_ADDRESS__)
  const void* asan_bottom_ = nullptr;
  std::size_t asan_size_ = 0;
#endif
#if defined(__SANITIZE_THREAD__)
  void* tsan_inside_ = nullptr;
  void* tsan_outside_ = nullptr;
#endif
};

}  // namespace lockstep::sim
