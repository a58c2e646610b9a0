// The interpreter's process: a child with a message channel, stdout and stderr.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>

#include "notebooks/kernel/channel.h"

namespace lockstep::kernel {

// Bytes of a stream that may end in the middle of a character.
class Utf8Stream {
 public:
  std::string take(const char* bytes, std::size_t count);  // whole characters so far

 private:
  std::string rest_;
};

class InterpreterProcess {
 public:
  using Print = std::function<void(const std::string& stream, const std::string& text)>;

  explicit InterpreterProcess(const std::string& program);
  ~InterpreterProcess();
  InterpreterProcess(const InterpreterProcess&) = delete;
  InterpreterProcess& operator=(const InterpreterProcess&) = delete;

  Channel& channel() { return *channel_; }
  pid_t id() const { return id_; }
  // The next message, while what the process prints is passed on. Nothing: the process has ended.
  // `idle` is called before each wait and says how many milliseconds it may take at most; -1: as long as it takes.
  std::optional<nlohmann::json> next(const Print& print, const std::function<int()>& idle);
  // How the process ended: "segmentation fault", "it called exit(3)".
  std::string how_it_ended();

 private:
  bool pass_on(int pipe, const char* stream, Utf8Stream& text, const Print& print);

  pid_t id_ = -1;
  bool waited_ = false;
  std::unique_ptr<Channel> channel_;
  int output_ = -1, errors_ = -1;
  Utf8Stream output_text_, errors_text_;
};

}  // namespace lockstep::kernel
