#include "cli/run/workers.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "common/sha256.h"
#include "lockstep/lockstep.h"

namespace lockstep::cli {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kGraceSeconds = 15;  // for the others once one has failed; less where LOCKSTEP_DEADLINE is less

int number_from(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr && *text != '\0' ? std::atoi(text) : otherwise;
}

volatile std::sig_atomic_t signal_to_forward = 0;

int free_port() {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  const bool good = listener >= 0 && bind(listener, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                    getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  if (listener >= 0) close(listener);
  if (!good) throw Error(std::string("--workers: no free port on this machine: ") + std::strerror(errno));
  return ntohs(address.sin_port);
}

struct Child {
  int worker = 0;
  pid_t pid = -1;
  int errors = -1;   // its stderr
  int notices = -1;  // a socket: tells it, while the workers meet, that one of them has ended
  std::string line;
  bool ended = false;
};

Child start(int worker, int workers, int port, const std::string& secret, char** argv) {
  std::array<int, 2> ends{}, notices{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, notices.data()) != 0)
    throw Error(std::string("--workers: ") + std::strerror(errno));
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) throw Error(std::string("--workers: can't start a process: ") + std::strerror(errno));
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);  // no worker outlives the launcher
    if (getppid() != parent) _exit(1);
    dup2(ends[1], 2);
    setenv("LOCKSTEP_WORKER", std::to_string(worker).c_str(), 1);
    setenv("LOCKSTEP_WORKERS", std::to_string(workers).c_str(), 1);
    setenv("LOCKSTEP_LOCAL_WORKER", std::to_string(worker).c_str(), 1);
    setenv("LOCKSTEP_LOCAL_WORKERS", std::to_string(workers).c_str(), 1);
    setenv("LOCKSTEP_ADDRESS", ("127.0.0.1:" + std::to_string(port)).c_str(), 1);
    setenv("LOCKSTEP_SECRET", secret.c_str(), 1);
    fcntl(notices[1], F_SETFD, 0);
    setenv("LOCKSTEP_LAUNCHER", std::to_string(notices[1]).c_str(), 1);
    setenv("NCCL_SOCKET_IFNAME", "lo", 1);  // all workers are on this machine
    execv("/proc/self/exe", argv);
    fmt::print(stderr, "lockstep: can't start worker {}: {}\n", worker, std::strerror(errno));
    _exit(127);
  }
  close(ends[1]);
  close(notices[1]);
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return {worker, pid, ends[0], notices[0], "", false};
}

// Whole lines, each with the number of the worker it came from.
void pass_on_errors(Child& child) {
  std::array<char, 4096> block{};
  ssize_t got = 0;
  while (child.errors >= 0 && (got = read(child.errors, block.data(), block.size())) > 0)
    child.line.append(block.data(), static_cast<std::size_t>(got));
  for (std::size_t end = 0; (end = child.line.find('\n')) != std::string::npos;) {
    fmt::print(stderr, "[worker {}] {}\n", child.worker, child.line.substr(0, end));
    child.line.erase(0, end + 1);
  }
}

}  // namespace

int this_worker() { return number_from("LOCKSTEP_WORKER", number_from("OMPI_COMM_WORLD_RANK", 0)); }

LocalWorkers local_workers() {
  return {number_from("LOCKSTEP_LOCAL_WORKER", number_from("OMPI_COMM_WORLD_LOCAL_RANK", 0)),
          number_from("LOCKSTEP_LOCAL_WORKERS", number_from("OMPI_COMM_WORLD_LOCAL_SIZE", 1))};
}

namespace {

class Fingerprint {
 public:
  void add(const void* data, std::size_t bytes) {
    const auto* at = static_cast<const unsigned char*>(data);
    for (; bytes >= sizeof(std::uint64_t); at += sizeof(std::uint64_t), bytes -= sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, at, sizeof(word));
      mix(word);
    }
    for (; bytes > 0; ++at, --bytes) mix(*at);
  }
  void mix(std::uint64_t word) {
    value_ = (value_ ^ word) * 0x9e3779b97f4a7c15U;
    value_ ^= value_ >> 31;
  }
  std::string text() const { return fmt::format("{:016x}", value_); }

 private:
  std::uint64_t value_ = 1;
};

}  // namespace

std::string fingerprint(const std::vector<Array>& arrays) {
  Fingerprint all;
  for (const Array& array : arrays) {
    for (int axis = 0; axis < array.shape().rank(); ++axis) all.mix(static_cast<std::uint64_t>(array.shape()[axis]));
    all.add(array.raw(), array.bytes());
  }
  return all.text();
}

std::string fingerprint(const Dataset& data) {
  constexpr std::int64_t kSamples = 16;
  std::vector<Array> arrays;
  const auto batches = data.take(kSamples).batch(kSamples).iterate();
  for (Batch batch; batches->next(batch);) {
    arrays.push_back(batch.x);
    arrays.push_back(batch.y);
  }
  return fmt::format("{} of {}", fingerprint(arrays), data.cardinality());
}

MultiWorkerMirroredStrategy::InCommon in_common(const RunOptions& options, const std::string& data) {
  const auto number = [](auto value) { return value > 0 ? fmt::format("{}", value) : std::string(); };
  const auto yes = [](bool value) { return std::string(value ? "yes" : ""); };
  return {{"workload", options.workload},
          {"data", data},
          {"--seed", fmt::format("{}", options.seed)},
          {"--epochs", number(options.epochs)},
          {"--batch", number(options.batch)},
          {"--batch-per-replica", number(options.batch_per_replica)},
          {"--learning-rate", number(options.learning_rate)},
          {"--quick", yes(options.quick)},
          {"--alpha", number(options.alpha)},
          {"--image", number(options.image)},
          {"--as-published", yes(options.as_published)},
          {"--feature-extraction", yes(!options.feature_extraction.empty())},
          {"--load", yes(!options.load.empty())},
          {"--backup", yes(!options.backup.empty())},
          {"--backup-batches", number(options.backup_batches)},
          {"--check-mirrored", yes(options.check_mirrored)},
          {"--trace", yes(!options.trace.empty())},
          {"--bucket", fmt::format("{} bytes", step_options(options.step).bucket_bytes)}};
}

void be_quiet_unless_first(RunOptions& options) {
  const int worker = this_worker();
  if (worker == 0) return;
  options.save.clear();
  std::fflush(stdout);
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere >= 0) dup2(nowhere, 1);
}

int launch_workers(int workers, char** argv) {
  const int port = free_port();
  constexpr std::size_t kSecretBytes = 16;
  const std::string secret = hexadecimal(random_bytes(kSecretBytes));  // known to these workers alone
  std::vector<Child> children;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    std::signal(signal, [](int number) { signal_to_forward = number; });
  }
  for (int worker = 0; worker < workers; ++worker) children.push_back(start(worker, workers, port, secret, argv));

  int code = 0;
  bool failed = false;
  std::size_t left = children.size();
  Clock::time_point stop_at = Clock::time_point::max();
  while (left > 0) {
    std::vector<pollfd> descriptors;
    for (const Child& child : children) descriptors.push_back({child.ended ? -1 : child.errors, POLLIN, 0});
    poll(descriptors.data(), descriptors.size(), 100);
    for (Child& child : children) {
      if (child.ended) continue;
      pass_on_errors(child);
      int status = 0;
      if (waitpid(child.pid, &status, WNOHANG) != child.pid) continue;
      pass_on_errors(child);
      child.ended = true;
      close(child.errors);
      close(child.notices);
      --left;
      const int its = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      const std::string what = WIFSIGNALED(status) ? fmt::format("worker {} was ended by signal {}", child.worker, WTERMSIG(status))
                                                   : fmt::format("worker {} has ended with exit code {}", child.worker, its);
      if (WIFSIGNALED(status)) fmt::print(stderr, "lockstep: {}\n", what);
      if (its == 0 || failed) continue;
      for (const Child& other : children)  // so that they need not wait for their deadline
        if (!other.ended) send(other.notices, what.data(), what.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      failed = true;
      code = its;
      stop_at = Clock::now() + std::chrono::seconds(std::clamp(number_from("LOCKSTEP_DEADLINE", kGraceSeconds), 1, kGraceSeconds));
    }
    if (const int number = signal_to_forward; number != 0) {
      signal_to_forward = 0;
      for (const Child& child : children) {
        if (!child.ended) kill(child.pid, number);
      }
    }
    if (Clock::now() < stop_at) continue;
    for (const Child& child : children) {
      if (child.ended) continue;
      fmt::print(stderr, "lockstep: worker {} does not end by itself and is stopped\n", child.worker);
      kill(child.pid, SIGKILL);
    }
    stop_at = Clock::time_point::max();
  }
  return code;
}

}  // namespace lockstep::cli
