#include "cli/child.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "lockstep/error.h"

namespace lockstep::cli {

ChildResult run_self(const std::vector<std::string>& words, const std::vector<std::pair<std::string, std::string>>& environment) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw Error(std::string("a pipe could not be made: ") + std::strerror(errno));
  std::vector<std::string> all = words;
  all.insert(all.begin(), "lockstep");
  std::vector<char*> argv;
  for (std::string& word : all) argv.push_back(word.data());
  argv.push_back(nullptr);

  const pid_t pid = fork();
  if (pid < 0) throw Error(std::string("a process could not be started: ") + std::strerror(errno));
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    dup2(ends[1], STDOUT_FILENO);
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    execv("/proc/self/exe", argv.data());
    _exit(127);
  }
  close(ends[1]);
  ChildResult result;
  std::array<char, 4096> part{};
  for (;;) {
    const ssize_t n = read(ends[0], part.data(), part.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    result.output.append(part.data(), static_cast<std::size_t>(n));
  }
  close(ends[0]);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace lockstep::cli
