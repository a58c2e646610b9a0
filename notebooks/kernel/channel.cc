#include "notebooks/kernel/channel.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>

namespace lockstep::kernel {
namespace {

bool send_all(int socket, const char* bytes, std::size_t count) {
  while (count > 0) {
    const ssize_t sent = ::send(socket, bytes, count, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes += sent;
    count -= static_cast<std::size_t>(sent);
  }
  return true;
}

bool receive_all(int socket, char* bytes, std::size_t count) {
  while (count > 0) {
    const ssize_t got = ::recv(socket, bytes, count, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes += got;
    count -= static_cast<std::size_t>(got);
  }
  return true;
}

}  // namespace

Channel::~Channel() { ::close(socket_); }

bool Channel::send(const nlohmann::json& message) {
  const std::string text = message.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  const std::uint64_t size = text.size();
  return send_all(socket_, reinterpret_cast<const char*>(&size), sizeof size) && send_all(socket_, text.data(), text.size());
}

std::optional<nlohmann::json> Channel::receive() {
  std::uint64_t size = 0;
  if (!receive_all(socket_, reinterpret_cast<char*>(&size), sizeof size)) return std::nullopt;
  std::string text(size, '\0');
  if (!receive_all(socket_, text.data(), text.size())) return std::nullopt;
  return nlohmann::json::parse(text);
}

}  // namespace lockstep::kernel
