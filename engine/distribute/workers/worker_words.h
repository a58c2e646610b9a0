// What workers say to each other when they meet over a socket of worker 0's, and how they prove that they know the secret of the run.
//
//   worker 0   Challenge      drawn for this connection
//   worker k   Greeting       who it is, what it runs, a nonce of its own; proof: HMAC(secret, challenge, greeting)
//   worker 0   Answer         "admitted" at once; "agreed" when all have come, with the NCCL id; or a refusal; proof: HMAC(secret, ...)
//   both       a byte         "connected": NCCL has connected all, and the connection may end
//
// The secret itself never travels. A greeting that was recorded is worth nothing on another connection. The NCCL id, which is a secret too,
// travels under a pad made from the secret and both nonces.
#pragma once

#include <nccl.h>

#include <array>
#include <cstdint>
#include <string>

#include "common/proof.h"
#include "engine/distribute/workers/workers.h"

namespace lockstep {

struct Challenge {
  std::uint32_t magic = 0x4c53'5710;
  std::uint32_t unused = 0;
  Nonce nonce{};
};

struct Greeting {
  std::uint32_t magic = 0x4c53'5711;
  std::int32_t worker = 0;
  std::int32_t workers = 0;
  std::int32_t replicas = 0;
  Nonce nonce{};
  RunFactsText facts{};
  Digest proof{};
};

struct Answer {
  enum class Kind : std::uint32_t { admitted = 0x4c53'5712, agreed, refused, unknown_secret };
  Kind kind = Kind::admitted;
  std::int32_t first_replica = 0;
  std::int32_t replicas = 0;
  std::uint32_t unused = 0;
  std::array<char, sizeof(ncclUniqueId)> id{};  // under the pad
  std::array<char, 512> text{};                 // refused: why
  Digest proof{};
};

inline constexpr char kConnected = 'c';

Digest proof_of(const std::string& secret, const Challenge& challenge, const Greeting& greeting);
Digest proof_of(const std::string& secret, const Challenge& challenge, const Greeting& greeting, const Answer& answer);
// Puts the id under the pad, or takes it from there.
void pad(const std::string& secret, const Challenge& challenge, const Greeting& greeting, std::array<char, sizeof(ncclUniqueId)>& id);

}  // namespace lockstep
