// The stop button. The first press asks the cell to stop where it can, and each press says what happens; the third ends the C++ process.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <functional>
#include <mutex>
#include <string>

namespace lockstep::kernel {

class Interrupts {
 public:
  using Say = std::function<void(const std::string&)>;

  void begin(pid_t process, Say say) {
    const std::lock_guard hold(lock_);
    count_ = 0, process_ = process, say_ = std::move(say);
  }
  void end() {
    const std::lock_guard hold(lock_);
    process_ = 0;
  }
  // From any thread, but not from a signal handler.
  void arrived() {
    const std::lock_guard hold(lock_);
    if (process_ <= 0) return;
    ++count_;
    say_(count_ == 1 ? "Interrupt: a training run stops after its batch, a loop at its next iteration.\n"
         : count_ == 2
             ? "Interrupt, second press: the cell has not reached a point where it can stop. A third press ends the C++ process, and "
               "the definitions of all cells are lost.\n"
             : "Interrupt, third press: the C++ process is ended.\n");
    kill(process_, count_ >= kEnd ? SIGKILL : SIGINT);
  }
  bool any() const {
    const std::lock_guard hold(lock_);
    return count_ > 0;
  }
  bool ended() const {
    const std::lock_guard hold(lock_);
    return count_ >= kEnd;
  }

 private:
  static constexpr int kEnd = 3;
  mutable std::mutex lock_;
  pid_t process_ = 0;
  int count_ = 0;
  Say say_;
};

}  // namespace lockstep::kernel
