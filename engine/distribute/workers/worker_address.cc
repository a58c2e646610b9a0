#include "engine/distribute/workers/worker_address.h"

#include <netdb.h>
#include <unistd.h>

#include <cstring>

#include "common/printable.h"
#include "lockstep/error.h"

namespace lockstep {

Connection::~Connection() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Connection WorkerAddress::new_socket() const { return Connection(socket(bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)); }

WorkerAddress parse_worker_address(const std::string& text) {
  const auto refuse = [&text](const std::string& why) -> WorkerAddress {
    throw Error("LOCKSTEP_ADDRESS=" + printable(text) + ": " + why + ". It is host:port of worker 0, such as 10.0.0.1:4000 or [::1]:4000.");
  };
  const auto colon = text.rfind(':');
  if (colon == std::string::npos) return refuse("there is no port");
  std::string host = text.substr(0, colon);
  const std::string port = text.substr(colon + 1);
  const bool brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (brackets) host = host.substr(1, host.size() - 2);
  if (!brackets && host.find(':') != std::string::npos) return refuse("an IPv6 address stands in brackets");
  constexpr int kMostDigits = 5, kMostPort = 65535;
  const bool digits = !port.empty() && port.size() <= kMostDigits && port.find_first_not_of("0123456789") == std::string::npos;
  if (!digits || std::stoi(port) < 1 || std::stoi(port) > kMostPort) return refuse("the port is not a number from 1 to 65535");
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (host.empty() || getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) return refuse("the host can't be found");
  WorkerAddress address;
  address.size = found->ai_addrlen;
  std::memcpy(&address.bytes, found->ai_addr, found->ai_addrlen);
  freeaddrinfo(found);
  return address;
}

}  // namespace lockstep
