// The one kind of pickle that is read, and everything else a pickle could try.
#include "engine/data/files/pickle.h"

#include <gtest/gtest.h>

#include "engine/data/files/npz.h"
#include "engine/data/splitmix.h"
#include "tests/engine/data/support/pickles.h"

namespace lockstep {
namespace {

using namespace std::string_literals;
using testing::pickled;

const Sequences kLists = {{1, 2, 300}, {}, {70000}, {5, -1, 255, 256}};

std::string fault(const std::string& pickle, std::uint64_t count = kLists.size()) {
  const std::string sentence = error_of([&] { parse_pickled_lists("that.npy", pickle, count); });
  if (!sentence.empty()) {
    EXPECT_EQ(sentence.find("that.npy: "), 0U) << sentence;
  }
  return sentence;
}
bool says(const std::string& sentence, const std::string& part) { return sentence.find(part) != std::string::npos; }

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos);
  return text.replace(at, what.size(), by);
}

TEST(Pickle, ListsOfIntegersAreRead) {
  EXPECT_EQ(parse_pickled_lists("that.npy", pickled(kLists), kLists.size()), kLists);
  EXPECT_EQ(parse_pickled_lists("that.npy", pickled({}), 0), Sequences{});
  EXPECT_EQ(parse_npy_lists("that.npy", testing::npy_of_lists(pickled(kLists), kLists.size())), kLists);
}

TEST(Pickle, LaterProtocolsAndLongNumbersAreRead) {
  std::string p = replaced(pickled(kLists), "cnumpy\nndarray\n", "\x8c\x05numpy\x8c\x07ndarray\x93");
  p = replaced(p, "numpy.core.multiarray", "numpy._core.multiarray");
  p = replaced(p, "K\x01K\x02", "\x8a\x01\xff\x8a\x03\x00\x00\x01"s);
  const Sequences read = parse_pickled_lists("that.npy", p, kLists.size());
  EXPECT_EQ(read[0], (std::vector<std::int32_t>{-1, 65536, 300}));
}

TEST(Pickle, NothingIsCalledThatIsNotKnown) {
  EXPECT_TRUE(says(fault(replaced(pickled(kLists), "c_codecs\nencode\n", "cos\nsystem\n")), "asks for `os system`"));
  EXPECT_TRUE(says(fault("cposix\nsystem\n(X\x02\x00\x00\x00lstR."s), "posix system"));
  EXPECT_TRUE(says(fault("\x80\x04\x8c\x08"s + "builtins\x8c\x04"s + "eval\x93."), "builtins eval"));
  EXPECT_TRUE(says(fault("cnumpy\nndarray\n)R."), "not to be called"));
  for (const char opcode : {'i', 'o', 'P', 'Q', 'd', '}', 's', 'u', 'I', 'L', 'S', 'V', 'F', 'G', '\x81', '\x82', '\x92', '\x97'})
    EXPECT_TRUE(says(fault(std::string("\x80\x02") + opcode), "not one of those obeyed")) << static_cast<int>(opcode);
}

TEST(Pickle, ClaimsAreHeldAgainstWhatIsThere) {
  EXPECT_TRUE(says(fault(pickled(kLists), 5), "claims 5 elements, but it holds 4"));
  EXPECT_TRUE(says(fault("\x80\x02X\xff\xff\xff\x7f"s), "truncated"));
  EXPECT_TRUE(says(fault("\x80\x02\x8a\x05"s + "12345."), "larger than 32 bits"));
  EXPECT_TRUE(says(fault("\x80\x02(e."), "no list to append to"));
  EXPECT_TRUE(says(fault("\x80\x02](K"s), "truncated"));
  EXPECT_TRUE(says(fault("\x80\x02h\x07."), "never remembered"));
  EXPECT_TRUE(says(fault("\x80\x02]]K\x01"s + "aa."), "does not end with one array"));
}

// Ten lists that each name the one before ten times would be ten thousand million numbers.
TEST(Pickle, RepeatedListsDoNotGrowWithoutEnd) {
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "K\x07";
  std::string p = replaced(pickled({{1, 2}}), "K\x01K\x02"s, many);
  std::string again;
  for (int i = 0; i < 4000; ++i) again += "h\x12";
  p = replaced(p, "etb.", again + "etb.");
  std::string sized = p;
  const std::size_t at = sized.find("J\x01"s + std::string(3, '\0'));
  ASSERT_NE(at, std::string::npos);
  sized[at + 1] = static_cast<char>(4001 & 0xff);
  sized[at + 2] = static_cast<char>(4001 >> 8);
  EXPECT_TRUE(says(fault(sized, 4001), "far larger than the file")) << fault(sized, 4001);
}

TEST(Pickle, AListInsideItselfIsRefused) { EXPECT_NE(fault("\x80\x02]q\x01h\x01"s + "a."), ""); }

TEST(Pickle, IsRefusedWhenCutAnywhere) {
  const std::string whole = pickled(kLists);
  for (std::size_t length = 0; length < whole.size(); ++length) EXPECT_NE(fault(whole.substr(0, length)), "") << "cut at " << length;
}

TEST(Pickle, MutatedGivesListsOrAnError) {
  const std::string valid = pickled(kLists);
  SplitMix64 random(7, 1);
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string p = valid;
    for (std::uint64_t changes = 1 + random.below(4); changes > 0 && !p.empty(); --changes) {
      const auto at = static_cast<std::size_t>(random.below(p.size()));
      switch (random.below(4)) {
        case 0:
          p[at] = static_cast<char>(random.next());
          break;
        case 1:
          p.erase(at, 1 + random.below(8));
          break;
        case 2:
          p.insert(at, p.substr(random.below(p.size()), 1 + random.below(16)));
          break;
        default:
          p[at] = "(.)]aehqRbt\x85\x86\x87"[random.below(14)];
          break;
      }
    }
    refused += !fault(p).empty();
  }
  EXPECT_GT(refused, 10000);
  EXPECT_LT(refused, 20000) << "another number in a list is still a list";
}

}  // namespace
}  // namespace lockstep
