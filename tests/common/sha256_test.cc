// SHA-256 against the examples of FIPS 180-4 and NIST's CAVP short messages.
#include "common/sha256.h"

#include <gtest/gtest.h>

#include <string>

namespace lockstep {
namespace {

std::string digest(const std::string& text) {
  Sha256 sha;
  sha.update(text.data(), text.size());
  return sha.hex();
}

TEST(Sha256, MeetsThePublishedExamples) {
  EXPECT_EQ(digest(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(digest("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(digest(std::string(1000000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, DoesNotDependOnHowTheBytesArrive) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += static_cast<char>(i * 37);
  for (std::size_t length = 0; length <= text.size(); length += 13) {
    const std::string whole = digest(text.substr(0, length));
    for (const std::size_t step : {1, 3, 55, 64, 65}) {
      Sha256 sha;
      for (std::size_t at = 0; at < length; at += step) sha.update(text.data() + at, std::min(step, length - at));
      EXPECT_EQ(sha.hex(), whole) << length << " bytes by " << step;
    }
  }
}

}  // namespace
}  // namespace lockstep
