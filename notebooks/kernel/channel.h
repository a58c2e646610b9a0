// JSON messages over a socket between the kernel's two processes: the one that talks to Jupyter, and the one that runs cells.
//
// User code never runs in the first, so a crash ends only the second, and the first reports it.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

namespace lockstep::kernel {

class Channel {
 public:
  explicit Channel(int socket) : socket_(socket) {}
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  int socket() const { return socket_; }
  bool send(const nlohmann::json& message);  // false: the other side is gone
  std::optional<nlohmann::json> receive();   // waits for a whole message; nothing: the other side is gone

 private:
  int socket_;
};

}  // namespace lockstep::kernel
