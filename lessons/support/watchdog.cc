#include "watchdog.h"

#include <fmt/format.h>
#include <pthread.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "source_lines.h"

namespace lesson {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kSeconds = 20;
constexpr int kStopped = 3;  // the exit code

struct Watched {
  std::mutex mutex;
  std::string test;
  Clock::time_point since;
  bool said = false;
  double seconds = kSeconds;
  WatchdogOutput output;
  pthread_t main{};
};
Watched& watched() {
  static Watched one;
  return one;
}

std::string at(const std::string& place) { return place.empty() ? "" : ", at " + place; }

// The address of a fault is next to the stack pointer when the stack is full.
bool stack_is_full([[maybe_unused]] const siginfo_t* info, [[maybe_unused]] const void* context) {
  constexpr std::uintptr_t kNear = 65536;
#if defined(__x86_64__)
  const auto pointer = static_cast<std::uintptr_t>(static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RSP]);
#elif defined(__aarch64__)
  const auto pointer = static_cast<std::uintptr_t>(static_cast<const ucontext_t*>(context)->uc_mcontext.sp);
#else
  return false;
#endif
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  return address + kNear > pointer && address < pointer + kNear;
}

// The program ends in any case, so what a handler must not do in general (allocate, start a process) is worth the risk here.
void on_crash(int number, siginfo_t* info, void* context) {
  signal(number, SIG_DFL);
  const std::string place = place_of_caller();
  if (number == SIGSEGV && stack_is_full(info, context)) {
    watched().output.tell("crashed", "A function calls itself without end: the stack is full" + at(place) +
                                         ". Under which condition does it stop calling itself?");
  } else if (!place.empty()) {
    watched().output.tell("place", place);
  }
  raise(number);
}

// On the main thread, when the test has run for too long.
void on_stop(int /*number*/) {
  Watched& all = watched();
  all.output.tell("stopped", fmt::format("The test \"{}\" was still running after {:g} seconds and was stopped{}. Does a loop in your code "
                                         "ever end?",
                                         all.test, all.seconds, at(place_of_caller())));
  _exit(kStopped);
}

void watch() {
  Watched& all = watched();
  for (;;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    std::string still;
    {
      const std::lock_guard lock(all.mutex);
      if (all.test.empty()) continue;
      const double running = std::chrono::duration<double>(Clock::now() - all.since).count();
      if (running > all.seconds) break;
      if (running > all.seconds / 4 && !all.said) {
        all.said = true;
        still = fmt::format("  ...   still running: {}\n", all.test);
      }
    }
    if (!still.empty()) all.output.say(still);
  }
  pthread_kill(all.main, SIGUSR1);
}

void handle(int number, void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction action = {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, nullptr);
}

}  // namespace

void start_watchdog(WatchdogOutput output) {
  Watched& all = watched();
  all.output = std::move(output);
  all.main = pthread_self();
  if (const char* seconds = std::getenv("LOCKSTEP_LESSON_SECONDS")) all.seconds = std::atof(seconds);
  static std::array<char, std::size_t{1} << 19> stack;  // a full stack has no room for a handler
  const stack_t other{stack.data(), 0, stack.size()};
  sigaltstack(&other, nullptr);
  place_of_caller();  // loads what a backtrace needs
  for (const int number : {SIGSEGV, SIGABRT, SIGFPE}) handle(number, &on_crash);
  signal(SIGUSR1, &on_stop);
  std::thread(&watch).detach();
}

void watch_test(const std::string& name) {
  Watched& all = watched();
  const std::lock_guard lock(all.mutex);
  all.test = name;
  all.since = Clock::now();
  all.said = false;
}

}  // namespace lesson
