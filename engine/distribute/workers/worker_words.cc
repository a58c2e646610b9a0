#include "engine/distribute/workers/worker_words.h"

#include <algorithm>

namespace lockstep {
namespace {

template <typename T>
std::string bytes_of(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

template <typename T>
std::string without_proof(T value) {
  value.proof = {};
  return bytes_of(value);
}

}  // namespace

Nonce new_nonce() {
  Nonce nonce{};
  const std::string drawn = random_bytes(nonce.size());
  std::copy(drawn.begin(), drawn.end(), nonce.begin());
  return nonce;
}

Digest proof_of(const std::string& secret, const Challenge& challenge, const Greeting& greeting) {
  return hmac_sha256(secret, "greeting" + bytes_of(challenge) + without_proof(greeting));
}

Digest proof_of(const std::string& secret, const Challenge& challenge, const Greeting& greeting, const Answer& answer) {
  return hmac_sha256(secret, "answer" + bytes_of(challenge) + without_proof(greeting) + without_proof(answer));
}

void pad(const std::string& secret, const Challenge& challenge, const Greeting& greeting, std::array<char, sizeof(ncclUniqueId)>& id) {
  for (std::size_t at = 0; at < id.size(); at += Digest{}.size()) {
    const Digest block = hmac_sha256(secret, "pad" + bytes_of(challenge) + bytes_of(greeting.nonce) + std::to_string(at));
    for (std::size_t i = 0; i < block.size() && at + i < id.size(); ++i) id[at + i] = static_cast<char>(id[at + i] ^ block[i]);
  }
}

}  // namespace lockstep
