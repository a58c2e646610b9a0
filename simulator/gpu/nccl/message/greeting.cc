#include "simulator/gpu/nccl/message/greeting.h"

#include <algorithm>
#include <cstring>

namespace lockstep::sim::nccl {

namespace {

template <typename T>
std::string bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

std::string words(const char* what, const Challenge& challenge, const Hello& hello) {
  Hello without_proof = hello;
  without_proof.proof = {};
  return what + bytes_of(challenge) + bytes_of(without_proof);
}

}  // namespace

Nonce new_nonce() {
  Nonce nonce{};
  const std::string drawn = random_bytes(nonce.size());
  std::copy(drawn.begin(), drawn.end(), nonce.begin());
  return nonce;
}

Digest proof_of(const std::string& key, const Challenge& challenge, const Hello& hello) {
  return hmac_sha256(key, words("hello", challenge, hello));
}

Digest proof_of_reply(const std::string& key, const Hello& hello, const std::string& bytes) {
  return hmac_sha256(key, "reply" + bytes_of(hello) + bytes);
}

void set_keys(const std::string& key, const Challenge& challenge, const Hello& hello, Link* link) {
  const Digest drawn = hmac_sha256(key, words("tags", challenge, hello));
  std::memcpy(link->sends.data(), drawn.data(), sizeof(SipKey));
  std::memcpy(link->receives.data(), drawn.data() + sizeof(SipKey), sizeof(SipKey));
}

Verdict say_hello(const Address& address, const std::string& key, const Patience& patience, Hello* hello, Link* link) {
  if (Verdict connected = connect_to(address, patience, &link->socket); !connected.ok()) return connected;
  Challenge challenge;
  if (Verdict heard = receive_all(link->socket, &challenge, sizeof(challenge), patience); !heard.ok()) return heard;
  if (challenge.magic != Challenge{}.magic) return {ncclRemoteError, "what listens there is no rank of this version"};
  hello->nonce = new_nonce();
  hello->proof = proof_of(key, challenge, *hello);
  set_keys(key, challenge, *hello, link);
  return send_all(link->socket, hello, sizeof(*hello), patience);
}

}  // namespace lockstep::sim::nccl
