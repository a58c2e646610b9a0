// Where worker 0 listens: host:port of IPv4 or IPv6, and a socket that closes itself.
#pragma once

#include <sys/socket.h>

#include <string>
#include <utility>

namespace lockstep {

class Connection {
 public:
  explicit Connection(int descriptor = -1) : descriptor_(descriptor) {}
  Connection(Connection&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Connection& operator=(Connection&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();
  int get() const { return descriptor_; }
  explicit operator bool() const { return descriptor_ >= 0; }

 private:
  int descriptor_;
};

struct WorkerAddress {
  sockaddr_storage bytes{};
  socklen_t size = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&bytes); }
  Connection new_socket() const;  // does not block
};

// "host:port" or "[::1]:port". An Error, with an example, where it is neither or the host can't be found.
WorkerAddress parse_worker_address(const std::string& text);

}  // namespace lockstep
