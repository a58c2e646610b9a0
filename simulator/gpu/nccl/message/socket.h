// Sockets that close themselves, and what the virtual NCCL needs of TCP. Blocking calls have a deadline; failures are a sentence.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "simulator/gpu/nccl/result.h"

namespace lockstep::sim::nccl {

class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    if (this != &other) reset(std::exchange(other.descriptor_, -1));
    return *this;
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() { reset(); }

  int get() const { return descriptor_; }
  explicit operator bool() const { return descriptor_ >= 0; }
  void reset(int descriptor = -1);

 private:
  int descriptor_ = -1;
};

// An IPv4 address and port, both in host order.
struct Address {
  std::uint32_t ip = 0;
  std::uint16_t port = 0;

  std::string text() const;  // "127.0.0.1:4000"
};

using Clock = std::chrono::steady_clock;

// How long to wait: until a time, or until another thread cancels.
struct Deadline {
  Deadline(Clock::time_point until_, const std::atomic<bool>* cancelled_ = nullptr)  // NOLINT(google-explicit-constructor)
      : until(until_), cancelled(cancelled_) {}
  bool over() const { return (cancelled != nullptr && *cancelled) || Clock::now() >= until; }
  Clock::time_point next_look() const { return std::min(until, Clock::now() + std::chrono::milliseconds(100)); }

  Clock::time_point until;
  const std::atomic<bool>* cancelled;
};

// The address other hosts can reach: of the interface that NCCL_SOCKET_IFNAME names (a prefix, as NCCL has it), else of the first one
// that is up and not the loopback, else the loopback's.
std::uint32_t own_ip();

// Listens on a free port of the address. Non-blocking.
Result listen_on(std::uint32_t ip, Socket* socket, Address* address);
Result connect_to(const Address& address, const Deadline& deadline, Socket* socket);
// All bytes, or an error. The socket may be non-blocking.
Result send_all(const Socket& socket, const void* data, std::size_t bytes, const Deadline& deadline);
Result receive_all(const Socket& socket, void* data, std::size_t bytes, const Deadline& deadline);

// Small messages leave at once, and an idle connection to a host that has vanished ends after half a minute.
void tune(const Socket& socket);

}  // namespace lockstep::sim::nccl
