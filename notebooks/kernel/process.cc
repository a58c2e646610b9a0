#include "notebooks/kernel/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <stdexcept>

namespace lockstep::kernel {
namespace {

constexpr int kChannel = 3;
constexpr int kPipe = 1 << 20;
constexpr int kRead = 1 << 16;
constexpr int kReads = 2 * kPipe / kRead;  // all that a pipe holds, but not all that a thread without an end prints

void make_pipe(int ends[2]) {
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error(std::string("no pipe: ") + std::strerror(errno));
  fcntl(ends[0], F_SETPIPE_SZ, kPipe);  // threads of a cell may print between cells
}

}  // namespace

std::string Utf8Stream::take(const char* bytes, std::size_t count) {
  rest_.append(bytes, count);
  std::size_t whole = rest_.size();
  for (std::size_t back = 1; back <= 3 && back <= rest_.size(); ++back) {
    const auto byte = static_cast<unsigned char>(rest_[rest_.size() - back]);
    if ((byte & 0xC0) == 0x80) continue;  // in the middle of a character
    const std::size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
    if (length > back) whole = rest_.size() - back;
    break;
  }
  std::string text = rest_.substr(0, whole);
  rest_.erase(0, whole);
  return text;
}

InterpreterProcess::InterpreterProcess(const std::string& program) {
  int sockets[2], output[2], errors[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
    throw std::runtime_error("can't create a socket for the interpreter");
  make_pipe(output);
  make_pipe(errors);
  id_ = fork();
  if (id_ < 0) throw std::runtime_error("the interpreter could not be started");
  if (id_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setpgid(0, 0);  // interrupts come from the kernel, once each
    const int nothing = open("/dev/null", O_RDONLY);
    dup2(nothing, STDIN_FILENO);
    dup2(output[1], STDOUT_FILENO);
    dup2(errors[1], STDERR_FILENO);
    if (sockets[1] == kChannel) {
      fcntl(kChannel, F_SETFD, 0);
    } else {
      dup2(sockets[1], kChannel);
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    execl(program.c_str(), program.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  close(sockets[1]);
  close(output[1]);
  close(errors[1]);
  output_ = output[0];
  errors_ = errors[0];
  fcntl(output_, F_SETFL, O_NONBLOCK);
  fcntl(errors_, F_SETFL, O_NONBLOCK);
  channel_ = std::make_unique<Channel>(sockets[0]);
}

InterpreterProcess::~InterpreterProcess() {
  if (!waited_) {
    kill(id_, SIGKILL);
    waitpid(id_, nullptr, 0);
  }
  close(output_);
  close(errors_);
}

bool InterpreterProcess::pass_on(int pipe, const char* stream, Utf8Stream& text, const Print& print) {
  char bytes[kRead];
  bool any = false;
  for (int i = 0; i < kReads; ++i) {
    const ssize_t got = read(pipe, bytes, sizeof bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return any;
    any = true;
    const std::string whole = text.take(bytes, static_cast<std::size_t>(got));
    if (!whole.empty()) print(stream, whole);
  }
  return any;
}

std::optional<nlohmann::json> InterpreterProcess::next(const Print& print, const std::function<int()>& idle) {
  for (;;) {
    const int wait = idle();
    pollfd waits[3]{{output_, POLLIN, 0}, {errors_, POLLIN, 0}, {channel_->socket(), POLLIN, 0}};
    if (poll(waits, 3, wait) < 0 && errno != EINTR) return std::nullopt;
    // Printed before a message was sent, so it is here before the message.
    const bool printed = pass_on(output_, "stdout", output_text_, print);
    const bool complained = pass_on(errors_, "stderr", errors_text_, print);
    if ((waits[2].revents & (POLLIN | POLLHUP)) != 0) return channel_->receive();
    if (!printed && !complained && ((waits[0].revents | waits[1].revents) & POLLHUP) != 0) {
      // The cell closed its output: only messages are left to wait for.
      pollfd rest{channel_->socket(), POLLIN, 0};
      poll(&rest, 1, 50);
    }
  }
}

std::string InterpreterProcess::how_it_ended() {
  int status = 0;
  if (waitpid(id_, &status, 0) != id_) return "it ended";
  waited_ = true;
  if (WIFEXITED(status)) return "it called exit(" + std::to_string(WEXITSTATUS(status)) + ")";
  const int signal = WTERMSIG(status);
  switch (signal) {
    case SIGSEGV:
      return "segmentation fault: it used an invalid address";
    case SIGABRT:
      return "abort: an assertion, an exception that a thread did not catch, or a damaged heap";
    case SIGFPE:
      return "arithmetic error, such as a division by zero";
    case SIGKILL:
      return "it was killed";
    default:
      return strsignal(signal);
  }
}

}  // namespace lockstep::kernel
