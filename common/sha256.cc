// The constants are what FIPS 180-4 says they are: the first 32 bits of the fractional parts of the square roots (initial state) and cube
// roots (K) of the first primes. They are computed from that, in integers, rather than listed.
#include "common/sha256.h"

#include <algorithm>
#include <cstring>
#include <random>

namespace lockstep {
namespace {

// floor(2^32 * root(prime)) mod 2^32 for the square (power 2) or cube (power 3) root, by bisection. The root of a prime below
// 312 is below 18, so a candidate has at most 37 bits and its cube fits 128 bits.
constexpr std::uint32_t root_fraction(std::uint64_t prime, int power) {
  __extension__ using Wide = unsigned __int128;
  const Wide target = static_cast<Wide>(prime) << (32 * power);
  std::uint64_t low = 0, high = std::uint64_t{18} << 32;
  while (high - low > 1) {
    const std::uint64_t middle = (low + high) / 2;
    Wide value = middle;
    for (int i = 1; i < power; ++i) value *= middle;
    (value <= target ? low : high) = middle;
  }
  return static_cast<std::uint32_t>(low);
}

template <std::size_t N>
constexpr std::array<std::uint32_t, N> root_fractions(int power) {
  std::array<std::uint32_t, N> values{};
  std::size_t found = 0;
  for (std::uint64_t candidate = 2; found < N; ++candidate) {
    bool prime = true;
    for (std::uint64_t d = 2; d * d <= candidate; ++d) prime = prime && candidate % d != 0;
    if (prime) values[found++] = root_fraction(candidate, power);
  }
  return values;
}

constexpr auto kInitial = root_fractions<8>(2);
constexpr auto kRound = root_fractions<64>(3);

constexpr std::uint32_t rotate(std::uint32_t x, int by) { return (x >> by) | (x << (32 - by)); }

}  // namespace

Sha256::Sha256() : state_(kInitial) {}

void Sha256::block(const unsigned char* p) {
  std::array<std::uint32_t, 64> w{};
  for (std::size_t i = 0; i < 16; ++i) {
    w[i] = (std::uint32_t{p[4 * i]} << 24) | (std::uint32_t{p[4 * i + 1]} << 16) | (std::uint32_t{p[4 * i + 2]} << 8) | p[4 * i + 3];
  }
  for (std::size_t i = 16; i < 64; ++i) {
    const std::uint32_t s0 = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ (w[i - 15] >> 3);
    const std::uint32_t s1 = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (std::size_t i = 0; i < 64; ++i) {
    const std::uint32_t t1 = h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g)) + kRound[i] + w[i];
    const std::uint32_t t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + t2;
  }
  const std::array<std::uint32_t, 8> change{a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < 8; ++i) state_[i] += change[i];
}

void Sha256::update(const void* data, std::size_t bytes) {
  const auto* p = static_cast<const unsigned char*>(data);
  while (bytes > 0) {
    const std::size_t filled = length_ % 64;
    const std::size_t chunk = std::min<std::size_t>(64 - filled, bytes);
    std::memcpy(pending_.data() + filled, p, chunk);
    length_ += chunk;
    p += chunk;
    bytes -= chunk;
    if (filled + chunk == 64) block(pending_.data());
  }
}

Digest Sha256::digest() {
  // Padding: a one bit, zeros, and the length in bits as the last 8 bytes of a block.
  const std::uint64_t bits = length_ * 8;
  const unsigned char one = 0x80, zero = 0;
  update(&one, 1);
  while (length_ % 64 != 56) update(&zero, 1);
  unsigned char length[8] = {};
  for (int i = 0; i < 8; ++i) length[i] = static_cast<unsigned char>(bits >> (56 - 8 * i));
  update(length, sizeof length);

  Digest bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(state_[i / 4] >> (24 - 8 * (i % 4)));
  return bytes;
}

std::string Sha256::hex() {
  const Digest bytes = digest();
  return hexadecimal({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

Digest hmac_sha256(std::string_view key, std::string_view message) {
  std::array<unsigned char, 64> padded{};
  if (key.size() <= padded.size()) {
    std::copy(key.begin(), key.end(), padded.begin());
  } else {
    Sha256 shortened;
    shortened.update(key.data(), key.size());
    const Digest digest = shortened.digest();
    std::copy(digest.begin(), digest.end(), padded.begin());
  }
  const auto hash = [&padded](unsigned char pad, const void* data, std::size_t bytes) {
    std::array<unsigned char, 64> block = padded;
    for (unsigned char& byte : block) byte ^= pad;
    Sha256 sha;
    sha.update(block.data(), block.size());
    sha.update(data, bytes);
    return sha.digest();
  };
  const Digest inner = hash(0x36, message.data(), message.size());
  return hash(0x5c, inner.data(), inner.size());
}

bool same(const Digest& a, const Digest& b) {
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned>(a[i] ^ b[i]);
  return difference == 0;
}

std::string hexadecimal(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

std::string random_bytes(std::size_t count) {
  std::string bytes;
  std::random_device random;  // getrandom or the processor's, never a seed of our own
  while (bytes.size() < count) bytes += static_cast<char>(random() & 255);
  return bytes;
}

}  // namespace lockstep
