// The functions that g++ calls from kernels compiled with -fsanitize=thread and -fsanitize-coverage=trace-pc: at every access, at the
// beginning and end of functions that were not inlined, and at every basic block. The sanitizer's own library is not linked.
#include <cstddef>

#include "simulator/gpu/coalescing/recorder.h"

namespace {

using lockstep::coalescing::current_recorder;
using lockstep::coalescing::Recorder;

inline void touch(const void* at, std::size_t bytes, bool write, const void* place) {
  if (Recorder* const recorder = current_recorder()) recorder->touch(at, static_cast<std::uint32_t>(bytes), write, place);
}

}  // namespace

// NOLINTBEGIN(bugprone-reserved-identifier): the names are the compiler's.
#define LOCKSTEP_ACCESSES(bytes)                                                                        \
  void __tsan_read##bytes(void* at) { touch(at, bytes, false, __builtin_return_address(0)); }           \
  void __tsan_write##bytes(void* at) { touch(at, bytes, true, __builtin_return_address(0)); }           \
  void __tsan_unaligned_read##bytes(void* at) { touch(at, bytes, false, __builtin_return_address(0)); } \
  void __tsan_unaligned_write##bytes(void* at) { touch(at, bytes, true, __builtin_return_address(0)); }

extern "C" {
LOCKSTEP_ACCESSES(1)
LOCKSTEP_ACCESSES(2)
LOCKSTEP_ACCESSES(4)
LOCKSTEP_ACCESSES(8)
LOCKSTEP_ACCESSES(16)
void __tsan_read_range(void* at, unsigned long bytes) { touch(at, bytes, false, __builtin_return_address(0)); }
void __tsan_write_range(void* at, unsigned long bytes) { touch(at, bytes, true, __builtin_return_address(0)); }
void __tsan_init() {}
void __tsan_func_entry(void* /*caller*/) {}
void __tsan_func_exit(void* /*caller*/) {
  if (Recorder* const recorder = current_recorder()) recorder->leave();
}
void __sanitizer_cov_trace_pc() {
  if (Recorder* const recorder = current_recorder()) recorder->reach(__builtin_return_address(0));
}
}
// NOLINTEND(bugprone-reserved-identifier)
