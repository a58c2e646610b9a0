#include "notebooks/kernel/trial.h"

#include <fcntl.h>
#include <llvm/Support/ErrorHandling.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <new>

#include "notebooks/kernel/memory_bound.h"

namespace lockstep::kernel {
namespace {

constexpr int kOutOfMemory = 91;

[[noreturn]] void out_of_memory() { _exit(kOutOfMemory); }

// The size of the process in virtual addresses: the unit of RLIMIT_AS.
std::size_t size_now() {
  std::ifstream file("/proc/self/statm");
  std::size_t pages = 0;
  file >> pages;
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

void limit(int what, std::size_t value) {
  struct rlimit most {};
  if (getrlimit(static_cast<__rlimit_resource_t>(what), &most) != 0) return;
  most.rlim_cur = most.rlim_max == RLIM_INFINITY || value < most.rlim_max ? value : most.rlim_max;
  setrlimit(static_cast<__rlimit_resource_t>(what), &most);
}

[[noreturn]] void answer(int pipe, const std::function<std::string()>& question, const TrialLimits& limits) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGILL, SIGFPE, SIGINT}) std::signal(signal, SIG_DFL);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_CPU, limits.seconds);
  alarm(10 * limits.seconds);  // for a copy that waits
  limit(RLIMIT_AS, size_now() + limits.memory);
  std::set_new_handler(out_of_memory);
  llvm::install_bad_alloc_error_handler([](void*, const char*, bool) { out_of_memory(); });
  std::string text;
  try {
    text = question();
  } catch (...) {
    _exit(1);
  }
  std::size_t at = 0;
  while (at < text.size()) {
    const ssize_t written = write(pipe, text.data() + at, text.size() - at);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    at += static_cast<std::size_t>(written);
  }
  _exit(0);
}

std::string reason_of(int status, const TrialLimits& limits) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == kOutOfMemory) return "it took more than " + tell_bytes(limits.memory) + " of memory";
  if (WIFEXITED(status)) return "it ended with status " + std::to_string(WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  if (signal == SIGXCPU || signal == SIGALRM || signal == SIGKILL) return "it took more than " + std::to_string(limits.seconds) + " s";
  return std::string("it crashed (") + strsignal(signal) + ")";
}

}  // namespace

TrialResult in_a_copy(const std::function<std::string()>& question, const TrialLimits& limits, const std::function<bool()>& give_up) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {false, "can't create a pipe"};
  const pid_t copy = fork();
  if (copy < 0) {
    close(ends[0]);
    close(ends[1]);
    return {false, std::string("can't start a process (") + std::strerror(errno) + ")"};
  }
  if (copy == 0) {
    close(ends[0]);
    answer(ends[1], question, limits);
  }
  close(ends[1]);
  TrialResult result;
  char bytes[1 << 14];
  bool ended_here = false;
  for (;;) {
    pollfd wait{ends[0], POLLIN, 0};
    const int ready = poll(&wait, 1, 50);
    if (!ended_here && give_up()) {
      kill(copy, SIGKILL);
      ended_here = true;
    }
    if (ready <= 0) continue;
    const ssize_t got = read(ends[0], bytes, sizeof bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    result.text.append(bytes, static_cast<std::size_t>(got));
  }
  close(ends[0]);
  int status = 0;
  while (waitpid(copy, &status, 0) < 0 && errno == EINTR) {
  }
  result.answered = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (!result.answered) result.text = ended_here ? "it was interrupted" : reason_of(status, limits);
  return result;
}

}  // namespace lockstep::kernel
