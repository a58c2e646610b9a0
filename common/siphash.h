// SipHash-2-4 (Aumasson and Bernstein, 2012): a keyed hash that is fast enough for every message. Without the key a tag can't be made.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace lockstep {

using SipKey = std::array<std::uint64_t, 2>;

class SipHash {
 public:
  explicit SipHash(const SipKey& key);
  void words(const void* data, std::size_t count);                // of 8 bytes each
  std::uint64_t finish(const void* data, std::size_t bytes = 0);  // the last bytes, and the tag of all

 private:
  void word(std::uint64_t m);
  void round();

  std::array<std::uint64_t, 4> v_;
  std::uint64_t length_ = 0;
};

}  // namespace lockstep
