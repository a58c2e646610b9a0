// A rank's part in a collective, written as it reads in a textbook: a coroutine that stops where it waits for a message.
#pragma once

#include <coroutine>
#include <exception>
#include <utility>

namespace lockstep::sim::nccl {

class Task {
 public:
  struct promise_type {
    std::exception_ptr error;

    Task get_return_object() { return Task(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    std::suspend_always final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() noexcept { error = std::current_exception(); }
  };

  Task() = default;
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  ~Task() {
    if (handle_) handle_.destroy();
  }

  void resume() const { handle_.resume(); }
  bool done() const { return handle_.done(); }
  std::exception_ptr error() const { return handle_.promise().error; }

 private:
  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  std::coroutine_handle<promise_type> handle_;
};

}  // namespace lockstep::sim::nccl
