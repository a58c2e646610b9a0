// SHA-256 (FIPS 180-4), to know a downloaded file for what it should be, and HMAC (RFC 2104) with it, to know who sends a message.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep {

using Digest = std::array<unsigned char, 32>;

class Sha256 {
 public:
  Sha256();
  void update(const void* data, std::size_t bytes);
  Digest digest();    // of all updates; the object is spent
  std::string hex();  // the same, in lower case

 private:
  void block(const unsigned char* p);

  std::array<std::uint32_t, 8> state_;
  std::array<unsigned char, 64> pending_{};
  std::uint64_t length_ = 0;
};

Digest hmac_sha256(std::string_view key, std::string_view message);
// Takes as long for digests that differ in the first byte as for those that differ in the last: time tells nothing.
bool same(const Digest& a, const Digest& b);

std::string hexadecimal(std::string_view bytes);
std::string random_bytes(std::size_t count);  // of the operating system: good for secrets

}  // namespace lockstep
