#include "cli/child.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "lockstep/error.h"

namespace lockstep::cli {
namespace {

[[noreturn]] void become(const std::vector<std::string>& command, const ChildOptions& options, pid_t parent, int output) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  if (options.capture) dup2(output, STDOUT_FILENO);
  for (const auto& [path, to] : {std::pair{&options.out, STDOUT_FILENO}, std::pair{&options.errors, STDERR_FILENO}}) {
    if (path->empty()) continue;
    const int file = open(path->c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file >= 0) dup2(file, to);
  }
  for (const auto& [name, value] : options.environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  std::fprintf(stderr, "%s: %s\n", arguments[0], std::strerror(errno));
  _exit(127);
}

std::string read_all(int descriptor) {
  std::string all;
  std::array<char, 4096> part{};
  for (;;) {
    const ssize_t count = read(descriptor, part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return all;
    all.append(part.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace

int ChildResult::code() const {
  constexpr int kSignalled = 128;  // as a shell reports it
  return WIFEXITED(status) ? WEXITSTATUS(status) : kSignalled + WTERMSIG(status);
}

ChildResult run_child(const std::vector<std::string>& command, const ChildOptions& options) {
  using Clock = std::chrono::steady_clock;
  std::fflush(stdout);
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw Error(std::string("can't create a pipe: ") + std::strerror(errno));
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) become(command, options, parent, ends[1]);
  close(ends[1]);
  ChildResult result;
  if (child > 0 && options.capture) result.output = read_all(ends[0]);
  close(ends[0]);
  if (child < 0) throw Error(std::string("can't start a process: ") + std::strerror(errno));
  const Clock::time_point stop = Clock::now() + std::chrono::seconds(options.seconds);
  while (waitpid(child, &result.status, WNOHANG) == 0) {
    if (options.seconds > 0 && Clock::now() > stop && !result.timed_out) {
      result.timed_out = true;
      kill(child, SIGKILL);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return result;
}

ChildResult run_self(const std::vector<std::string>& arguments) {
  std::vector<std::string> command = arguments;
  command.insert(command.begin(), "/proc/self/exe");
  return run_child(command, {"", "", {}, 0, true});
}

}  // namespace lockstep::cli
