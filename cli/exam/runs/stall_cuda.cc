// In a build for real GPUs there are no exams (cli/lesson/lesson_files.h refuses first).
#include "cli/exam/runs/stall.h"
#include "lockstep/error.h"

namespace lockstep::cli {

void count_operations(int /*gpu*/) { throw Error("a real GPU does not count its operations. Fix: LOCKSTEP_PRESET=sim ./lockstep exam"); }

std::uint64_t counted_operations() { return 0; }

void stall_operation(int gpu, std::uint64_t /*which*/, int /*ms*/) { count_operations(gpu); }

}  // namespace lockstep::cli
