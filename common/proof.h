// What proofs of a shared secret are made of: a nonce from each side, and the bytes of the structs that travel. The secret itself never
// does: a proof is an HMAC of these bytes under it (sha256.h).
#pragma once

#include <algorithm>
#include <array>
#include <string>

#include "common/sha256.h"

namespace lockstep {

using Nonce = std::array<char, 16>;

inline Nonce new_nonce() {
  Nonce nonce{};
  const std::string drawn = random_bytes(nonce.size());
  std::copy(drawn.begin(), drawn.end(), nonce.begin());
  return nonce;
}

template <typename T>
std::string raw_bytes(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

template <typename T>
std::string raw_bytes_without_proof(T value) {
  value.proof = {};
  return raw_bytes(value);
}

}  // namespace lockstep
