// Keyed digests against their published examples (RFC 4231; the appendix of the SipHash paper), and text made fit for a terminal.
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>

#include "common/printable.h"
#include "common/sha256.h"
#include "common/siphash.h"

namespace lockstep {
namespace {

std::string hmac(const std::string& key, const std::string& message) {
  const Digest digest = hmac_sha256(key, message);
  return hexadecimal({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

TEST(Hmac, MeetsThePublishedExamples) {
  EXPECT_EQ(hmac(std::string(20, '\x0b'), "Hi There"), "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hmac("Jefe", "what do ya want for nothing?"), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hmac(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First"),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(Hmac, DigestsAreTheSameOnlyWhenEveryByteIs) {
  const Digest digest = hmac_sha256("key", "message");
  EXPECT_TRUE(same(digest, hmac_sha256("key", "message")));
  for (std::size_t i = 0; i < digest.size(); ++i) {
    Digest other = digest;
    other[i] ^= 1;
    EXPECT_FALSE(same(digest, other)) << "byte " << i;
  }
}

TEST(RandomBytes, AreNotTheSameTwice) {
  std::set<std::string> drawn;
  for (int i = 0; i < 100; ++i) drawn.insert(random_bytes(16));
  EXPECT_EQ(drawn.size(), 100U);
  EXPECT_EQ(drawn.begin()->size(), 16U);
}

TEST(SipHash, MeetsThePublishedExample) {
  std::array<unsigned char, 16> counting{};
  for (unsigned char i = 0; i < counting.size(); ++i) counting[i] = i;
  SipKey key{};
  std::memcpy(key.data(), counting.data(), counting.size());
  EXPECT_EQ(SipHash(key).finish(counting.data(), 15), 0xa129ca6149be45e5U);
  EXPECT_EQ(SipHash(key).finish(counting.data(), 0), 0x726fdb47dd0e0e31U);
}

TEST(SipHash, EveryByteAndTheLengthCount) {
  const SipKey key{1, 2};
  std::string text(64, 'x');
  const auto tag = [&key](const std::string& bytes) {
    SipHash hash(key);
    hash.words(bytes.data(), 4);
    return hash.finish(bytes.data() + 32, bytes.size() - 32);
  };
  std::set<std::uint64_t> tags{tag(text), tag(text + 'x'), SipHash({1, 3}).finish(text.data(), text.size())};
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string other = text;
    other[i] = 'y';
    tags.insert(tag(other));
  }
  EXPECT_EQ(tags.size(), 3 + text.size());
  EXPECT_EQ(tag(text), SipHash(key).finish(text.data(), text.size())) << "how the bytes arrive does not matter";
}

TEST(Printable, LeavesNothingATerminalActsOn) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  for (const char c : printable(all)) EXPECT_TRUE(c >= ' ' && c <= '~') << static_cast<int>(c);
  EXPECT_EQ(printable("\x1b[2Jrank 1 \xc2\x9b"
                      "31m is gone\r\n"),
            "?[2Jrank 1 ??31m is gone??");
  EXPECT_EQ(printable(std::string(5000, 'x')).size(), 1000U);
}

}  // namespace
}  // namespace lockstep
