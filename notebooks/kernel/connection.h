// The five sockets of a Jupyter kernel, over TCP or over files (ipc, which Colab uses).
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "notebooks/kernel/wire.h"

namespace lockstep::kernel {

class Socket {
 public:
  Socket(void* context, int type, const std::string& address);
  ~Socket();
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  void send(const Parts& parts);
  std::optional<Parts> receive(int milliseconds);  // negative: as long as it takes

 private:
  void* socket_;
};

// May be used by several threads, as long as each of shell, control and input is received from in one only.
class Connection {
 public:
  explicit Connection(const std::string& file);  // Jupyter's connection file
  ~Connection();

  enum class Channel { shell, control, input };
  std::optional<Message> receive(Channel channel, int milliseconds);
  void reply(Channel channel, const Message& request, const std::string& type, nlohmann::json content);
  // To all clients of the notebook.
  void publish(const Message& parent, const std::string& type, nlohmann::json content);

 private:
  void answer_heartbeats();
  Socket& socket(Channel channel);

  void* context_;
  std::unique_ptr<Wire> wire_;
  std::unique_ptr<Socket> shell_, control_, input_, published_, heartbeat_;
  std::mutex publishing_;
};

}  // namespace lockstep::kernel
