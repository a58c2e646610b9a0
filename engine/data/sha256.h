// SHA-256 (FIPS 180-4), to know a downloaded file for what it should be.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace lockstep {

class Sha256 {
 public:
  Sha256();
  void update(const void* data, std::size_t bytes);
  std::string hex();  // the digest of all updates, in lower case; the object is spent

 private:
  void block(const unsigned char* p);

  std::array<std::uint32_t, 8> state_;
  std::array<unsigned char, 64> pending_{};
  std::uint64_t length_ = 0;
};

}  // namespace lockstep
