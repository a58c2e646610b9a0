#include "common/siphash.h"

#include <bit>
#include <cstring>

namespace lockstep {

SipHash::SipHash(const SipKey& key)
    : v_{key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d, key[0] ^ 0x6c7967656e657261, key[1] ^ 0x7465646279746573} {}

void SipHash::round() {
  auto& [a, b, c, d] = v_;
  a += b;
  c += d;
  b = std::rotl(b, 13) ^ a;
  d = std::rotl(d, 16) ^ c;
  a = std::rotl(a, 32);
  c += b;
  a += d;
  b = std::rotl(b, 17) ^ c;
  d = std::rotl(d, 21) ^ a;
  c = std::rotl(c, 32);
}

void SipHash::word(std::uint64_t m) {
  v_[3] ^= m;
  round();
  round();
  v_[0] ^= m;
}

void SipHash::words(const void* data, std::size_t count) {
  const auto* at = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < count; ++i, at += 8) {
    std::uint64_t m = 0;
    std::memcpy(&m, at, 8);
    word(m);
  }
  length_ += 8 * count;
}

std::uint64_t SipHash::finish(const void* data, std::size_t bytes) {
  words(data, bytes / 8);
  std::uint64_t last = 0;
  if (bytes % 8 > 0) std::memcpy(&last, static_cast<const unsigned char*>(data) + bytes / 8 * 8, bytes % 8);
  word(last | (length_ + bytes % 8) << 56);
  v_[2] ^= 0xff;
  for (int i = 0; i < 4; ++i) round();
  return v_[0] ^ v_[1] ^ v_[2] ^ v_[3];
}

}  // namespace lockstep
