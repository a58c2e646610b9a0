#include "notebooks/kernel/memory_bound.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace lockstep::kernel {
namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;

std::size_t of_the_machine() {
  const auto pages = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES));
  std::size_t bytes = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::ifstream file(path);
    if (std::size_t most = 0; file >> most) bytes = std::min(bytes, most);
  }
  return bytes / 4 * 3;
}

std::size_t read_bound() {
  if (const char* text = std::getenv("LOCKSTEP_NOTEBOOK_MEMORY")) {
    if (const double given = std::atof(text); given > 0) return static_cast<std::size_t>(given * kGiB);
  }
  return of_the_machine();
}

}  // namespace

std::size_t memory_bound() {
  static const std::size_t bound = read_bound();
  return bound;
}

std::size_t memory_in_use(pid_t process) {
  char path[32] = "/proc/self/statm", text[128] = {};
  if (process != 0) std::snprintf(path, sizeof path, "/proc/%d/statm", static_cast<int>(process));
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t got = read(file, text, sizeof text - 1);
  close(file);
  unsigned long size = 0, resident = 0;
  if (got <= 0 || std::sscanf(text, "%lu %lu", &size, &resident) != 2) return 0;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

std::string tell_bytes(std::size_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g GiB", static_cast<double>(bytes) / kGiB);
  return text;
}

const char* TooMuchMemory::what() const noexcept {
  static const std::string text = "The cell needed more memory than the " + tell_bytes(memory_bound()) +
                                  " that cells may use, so it was stopped and its variables are lost. Fix: use less, or set "
                                  "LOCKSTEP_NOTEBOOK_MEMORY (GiB) before Jupyter starts.";
  return text.c_str();
}

void check_memory(std::size_t wanted) {
  const std::size_t used = memory_in_use(), bound = memory_bound();
  if (used > bound || wanted > bound - used) throw TooMuchMemory();
}

}  // namespace lockstep::kernel
