// The first words between two processes, and how they prove to each other that they have the same ncclUniqueId, whose key never travels.
//
// The process that listens sends a challenge, drawn for this connection. The other one answers with a hello and its proof: an HMAC, under
// the id's key, of the challenge and the hello. So a hello that was recorded opens no second connection. From the same words both make
// the keys of the tags that all later messages bear (tcp.h), one for each direction.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "common/sha256.h"
#include "common/siphash.h"
#include "simulator/gpu/nccl/message/socket.h"

namespace lockstep::sim::nccl {

using Nonce = std::array<char, 16>;
Nonce new_nonce();

struct Challenge {
  std::uint32_t magic = 0x4c53'4301;
  std::uint32_t unused = 0;
  Nonce nonce{};
};
static_assert(sizeof(Challenge) == 24);

// Process and serial say which id is meant.
struct Hello {
  enum class Kind : std::uint32_t { join = 0x4c53'4a02, peer };
  Kind kind = Kind::join;
  std::int32_t ranks = 0;
  std::uint64_t process = 0;
  std::uint64_t serial = 0;
  std::int32_t from = 0;  // join: the rank; peer: the member
  std::int32_t to = 0;    // peer: the member that is meant
  std::uint64_t seat_process = 0;
  std::uint32_t seat_ip = 0;
  std::uint32_t seat_port = 0;
  std::int64_t seat_device = 0;
  Nonce nonce{};
  Digest proof{};
};
static_assert(sizeof(Hello) == 104);

Digest proof_of(const std::string& key, const Challenge& challenge, const Hello& hello);
Digest proof_of_reply(const std::string& key, const Hello& hello, const std::string& bytes);

// A connection between two members and the keys of its tags.
struct Link {
  Socket socket;
  SipKey sends{}, receives{};
};
// The keys, as the one who connected sees them; the other one has them the other way round.
void set_keys(const std::string& key, const Challenge& challenge, const Hello& hello, Link* link);

// Connects, hears the challenge and says hello with a nonce and a proof of its own.
Verdict say_hello(const Address& address, const std::string& key, const Patience& patience, Hello* hello, Link* link);

}  // namespace lockstep::sim::nccl
