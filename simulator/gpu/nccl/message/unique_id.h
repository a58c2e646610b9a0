// What an ncclUniqueId holds here: which process made it, its number there, where that process listens, and a secret. As with NCCL's own
// ids, all that have the id share the secret: connections begin with a proof of it (handshake.h).
#pragma once

#include <cstdint>
#include <string>

#include "simulator/gpu/nccl/message/socket.h"

namespace lockstep::sim::nccl {

struct UniqueId {
  std::uint64_t process = 0;
  std::uint64_t serial = 0;
  Address address;  // port 0: it does not listen, so the id is for ranks of that process only
  std::string key;
};

bool read_id(const ncclUniqueId& id, UniqueId* content);
ncclUniqueId write_id(const UniqueId& content);
std::string new_key();

std::uint64_t own_process();  // a random number

}  // namespace lockstep::sim::nccl
