#include "simulator/gpu/nccl/message/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace lockstep::sim::nccl {

namespace {

Result system_error(const std::string& what) { return {ncclSystemError, what + ": " + std::strerror(errno)}; }

sockaddr_in native(const Address& address) {
  sockaddr_in there{};
  there.sin_family = AF_INET;
  there.sin_addr.s_addr = htonl(address.ip);
  there.sin_port = htons(address.port);
  return there;
}

// Waits until the socket can be read or written.
Result wait_for(const Socket& socket, short events, const Deadline& deadline, const std::string& what) {
  while (true) {
    if (deadline.over()) return {ncclRemoteError, what + ": no answer in time"};
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline.next_look() - Clock::now()).count();
    pollfd one{socket.get(), events, 0};
    const int ready = poll(&one, 1, static_cast<int>(left) + 1);
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return system_error(what);
  }
}

bool again() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

void Socket::reset(int descriptor) {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = descriptor;
}

std::string Address::text() const {
  return std::to_string(ip >> 24) + "." + std::to_string(ip >> 16 & 255) + "." + std::to_string(ip >> 8 & 255) + "." +
         std::to_string(ip & 255) + ":" + std::to_string(port);
}

std::uint32_t own_ip() {
  const char* wanted = std::getenv("NCCL_SOCKET_IFNAME");
  std::uint32_t found = 0;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) == 0) {
    for (const ifaddrs* one = list; one != nullptr && found == 0; one = one->ifa_next) {
      if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET || (one->ifa_flags & IFF_UP) == 0) continue;
      const bool fits = wanted != nullptr && *wanted != '\0' ? std::strncmp(one->ifa_name, wanted, std::strlen(wanted)) == 0
                                                             : (one->ifa_flags & IFF_LOOPBACK) == 0;
      if (!fits) continue;
      sockaddr_in here{};
      std::memcpy(&here, one->ifa_addr, sizeof(here));
      found = ntohl(here.sin_addr.s_addr);
    }
    freeifaddrs(list);
  }
  return found != 0 ? found : INADDR_LOOPBACK;
}

Result listen_on(std::uint32_t ip, Socket* socket, Address* address) {
  Socket fresh(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fresh) return system_error("socket");
  sockaddr_in here = native({ip, 0});
  if (bind(fresh.get(), reinterpret_cast<const sockaddr*>(&here), sizeof(here)) != 0) return system_error("bind");
  if (listen(fresh.get(), SOMAXCONN) != 0) return system_error("listen");
  socklen_t size = sizeof(here);
  if (getsockname(fresh.get(), reinterpret_cast<sockaddr*>(&here), &size) != 0) return system_error("getsockname");
  *address = {ip, ntohs(here.sin_port)};
  *socket = std::move(fresh);
  return {};
}

Result connect_to(const Address& address, const Deadline& deadline, Socket* socket) {
  const std::string what = "connecting to " + address.text();
  Socket fresh(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fresh) return system_error("socket");
  const sockaddr_in there = native(address);
  if (connect(fresh.get(), reinterpret_cast<const sockaddr*>(&there), sizeof(there)) != 0) {
    if (errno != EINPROGRESS && errno != EINTR) return system_error(what);
    if (Result ready = wait_for(fresh, POLLOUT, deadline, what); !ready.ok()) return ready;
    int error = 0;
    socklen_t size = sizeof(error);
    getsockopt(fresh.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    errno = error;
    if (error != 0) return system_error(what);
  }
  tune(fresh);
  *socket = std::move(fresh);
  return {};
}

Result send_all(const Socket& socket, const void* data, std::size_t bytes, const Deadline& deadline) {
  const auto* at = static_cast<const std::byte*>(data);
  while (bytes > 0) {
    const auto sent = send(socket.get(), at, bytes, MSG_NOSIGNAL);
    if (sent > 0) {
      at += sent;
      bytes -= static_cast<std::size_t>(sent);
    } else if (again()) {
      if (Result ready = wait_for(socket, POLLOUT, deadline, "sending"); !ready.ok()) return ready;
    } else {
      return system_error("sending");
    }
  }
  return {};
}

Result receive_all(const Socket& socket, void* data, std::size_t bytes, const Deadline& deadline) {
  auto* at = static_cast<std::byte*>(data);
  while (bytes > 0) {
    const auto got = recv(socket.get(), at, bytes, 0);
    if (got > 0) {
      at += got;
      bytes -= static_cast<std::size_t>(got);
    } else if (got == 0) {
      return {ncclRemoteError, "the other end has closed the connection"};
    } else if (again()) {
      if (Result ready = wait_for(socket, POLLIN, deadline, "waiting for an answer"); !ready.ok()) return ready;
    } else {
      return system_error("receiving");
    }
  }
  return {};
}

void tune(const Socket& socket) {
  const auto set = [&socket](int level, int option, int value) { setsockopt(socket.get(), level, option, &value, sizeof(value)); };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 10);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set(IPPROTO_TCP, TCP_KEEPCNT, 4);
}

}  // namespace lockstep::sim::nccl
