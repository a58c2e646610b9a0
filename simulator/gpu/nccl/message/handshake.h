// The handshake of a connection: both processes prove that they have the same ncclUniqueId, whose key never travels.
//
// The process that listens sends a challenge, drawn for this connection. The other one answers with a hello and its proof: an HMAC, under
// the id's key, of the challenge and the hello. So a recorded hello opens no second connection. From the same bytes both make the keys of
// the authentication tags of all later messages (tcp.h), one for each direction.
#pragma once

#include <cstdint>
#include <string>

#include "common/proof.h"
#include "common/siphash.h"
#include "simulator/gpu/nccl/message/socket.h"

namespace lockstep::sim::nccl {

struct Challenge {
  std::uint32_t magic = 0x4c53'4301;
  std::uint32_t unused = 0;
  Nonce nonce{};
};
static_assert(sizeof(Challenge) == 24);

// Process and serial say which id is meant.
struct Hello {
  enum class Kind : std::uint32_t { join = 0x4c53'4a02, connect };
  Kind kind = Kind::join;
  std::int32_t ranks = 0;
  std::uint64_t process = 0;
  std::uint64_t serial = 0;
  std::int32_t from = 0;             // join: the rank; connect: the endpoint that connects
  std::int32_t to = 0;               // connect: the endpoint that it connects to
  std::uint64_t joiner_process = 0;  // these four are for join
  std::uint32_t joiner_ip = 0;
  std::uint32_t joiner_port = 0;
  std::int64_t joiner_device = 0;
  Nonce nonce{};
  Digest proof{};
};
static_assert(sizeof(Hello) == 104);

Digest proof_of(const std::string& key, const Challenge& challenge, const Hello& hello);
Digest proof_of_reply(const std::string& key, const Hello& hello, const std::string& bytes);

// A connection and the keys of its tags.
struct Connection {
  Socket socket;
  SipKey sends{}, receives{};
};
// The keys for the side that connected; the other side swaps them.
void set_keys(const std::string& key, const Challenge& challenge, const Hello& hello, Connection* connection);

// Connects, receives the challenge and sends the hello with a nonce and a proof.
Result connect_with_hello(const Address& address, const std::string& key, const Deadline& deadline, Hello* hello, Connection* connection);

}  // namespace lockstep::sim::nccl
