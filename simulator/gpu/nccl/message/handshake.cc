#include "simulator/gpu/nccl/message/handshake.h"

#include <cstring>

namespace lockstep::sim::nccl {

Digest proof_of(const std::string& key, const Challenge& challenge, const Hello& hello) {
  return hmac_sha256(key, "hello" + raw_bytes(challenge) + raw_bytes_without_proof(hello));
}

Digest proof_of_reply(const std::string& key, const Hello& hello, const std::string& bytes) {
  return hmac_sha256(key, "reply" + raw_bytes(hello) + bytes);
}

void set_keys(const std::string& key, const Challenge& challenge, const Hello& hello, Connection* connection) {
  const Digest drawn = hmac_sha256(key, "tags" + raw_bytes(challenge) + raw_bytes_without_proof(hello));
  std::memcpy(connection->sends.data(), drawn.data(), sizeof(SipKey));
  std::memcpy(connection->receives.data(), drawn.data() + sizeof(SipKey), sizeof(SipKey));
}

Result connect_with_hello(const Address& address, const std::string& key, const Deadline& deadline, Hello* hello, Connection* connection) {
  if (Result connected = connect_to(address, deadline, &connection->socket); !connected.ok()) return connected;
  Challenge challenge;
  if (Result received = receive_all(connection->socket, &challenge, sizeof(challenge), deadline); !received.ok()) return received;
  if (challenge.magic != Challenge{}.magic) return {ncclRemoteError, "what listens there is no rank of this version"};
  hello->nonce = new_nonce();
  hello->proof = proof_of(key, challenge, *hello);
  set_keys(key, challenge, *hello, connection);
  return send_all(connection->socket, hello, sizeof(*hello), deadline);
}

}  // namespace lockstep::sim::nccl
