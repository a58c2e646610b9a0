// Collects a cell's output for Jupyter: at most 20 messages a second, cut after 5 MiB.
#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace lockstep::kernel {

class Output {
 public:
  using Publish = std::function<void(const std::string& stream, const std::string& text)>;
  using Clock = std::chrono::steady_clock;

  explicit Output(Publish publish) : publish_(std::move(publish)) {}

  void begin_cell();
  void add(const std::string& stream, const std::string& text);
  void tick();   // publishes what has waited long enough
  void flush();  // publishes all: something else is shown next, or the cell has ended
  void end_cell();
  int wait() const;  // milliseconds until tick() has something to do; -1: nothing waits

 private:
  static constexpr std::size_t kMost = std::size_t{5} << 20;
  static constexpr std::chrono::milliseconds kPause{100};  // two streams, ten times a second

  void send(std::string& text, const char* stream);

  Publish publish_;
  std::string out_, err_;
  std::size_t shown_ = 0, cut_ = 0;
  Clock::time_point last_{};
};

}  // namespace lockstep::kernel
