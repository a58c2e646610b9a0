#include "engine/distribute/workers/worker_words.h"

namespace lockstep {

Digest proof_of(const std::string& secret, const Challenge& challenge, const Greeting& greeting) {
  return hmac_sha256(secret, "greeting" + raw_bytes(challenge) + raw_bytes_without_proof(greeting));
}

Digest proof_of(const std::string& secret, const Challenge& challenge, const Greeting& greeting, const Answer& answer) {
  return hmac_sha256(secret, "answer" + raw_bytes(challenge) + raw_bytes_without_proof(greeting) + raw_bytes_without_proof(answer));
}

void pad(const std::string& secret, const Challenge& challenge, const Greeting& greeting, std::array<char, sizeof(ncclUniqueId)>& id) {
  for (std::size_t at = 0; at < id.size(); at += Digest{}.size()) {
    const Digest block = hmac_sha256(secret, "pad" + raw_bytes(challenge) + raw_bytes(greeting.nonce) + std::to_string(at));
    for (std::size_t i = 0; i < block.size() && at + i < id.size(); ++i) id[at + i] = static_cast<char>(id[at + i] ^ block[i]);
  }
}

}  // namespace lockstep
