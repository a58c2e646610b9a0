// .npy and .npz files, right and wrong.
#include "engine/data/files/npz.h"

#include <gtest/gtest.h>

#include "tests/engine/data/support/tiny_files.h"

namespace lockstep {
namespace {

using namespace std::string_literals;
using testing::Bytes;
using testing::npy_bytes;
using testing::raw;
using testing::TempFolder;
using testing::zip_bytes;

const std::vector<float> kFloats = {0.5F, -1.25F, 3e30F, 0, 1, 2};

Bytes floats() { return npy_bytes("<f4", "(2, 3)", raw(kFloats)); }

std::string npy_fault(const Bytes& contents) {
  const std::string sentence = error_of([&] { parse_npy("that.npy", contents); });
  if (!sentence.empty()) {
    EXPECT_EQ(sentence.find("that.npy: "), 0U) << sentence;
  }
  return sentence;
}
bool says(const std::string& sentence, const std::string& part) { return sentence.find(part) != std::string::npos; }

TEST(Npy, ReadsEveryPlainType) {
  const NpyArray array = parse_npy("that.npy", floats());
  EXPECT_EQ(array.dtype, "<f4");
  EXPECT_EQ(array.shape, Shape({2, 3}));
  EXPECT_EQ(array.as<float>(), kFloats);
  EXPECT_EQ(array.array().data<float>()[2], 3e30F);
  const std::vector<double> doubles = {1e300, -2};
  EXPECT_EQ(parse_npy("", npy_bytes("<f8", "(2,)", raw(doubles))).as<double>(), doubles);
  const std::vector<std::int64_t> wide = {INT64_MIN, 7};
  EXPECT_EQ(parse_npy("", npy_bytes("<i8", "(2, 1)", raw(wide))).as<std::int64_t>(), wide);
  const std::vector<std::int32_t> ints = {-1, 7};
  EXPECT_EQ(parse_npy("", npy_bytes("<i4", "(2,)", raw(ints))).array().data<std::int32_t>()[0], -1);
  EXPECT_EQ(parse_npy("", npy_bytes("|u1", "(3,)", {1, 2, 255})).as<std::uint8_t>(), (Bytes{1, 2, 255}));
  const NpyArray scalar = parse_npy("", npy_bytes("<f4", "()", raw(std::vector<float>{4})));
  EXPECT_EQ(scalar.shape, Shape());
  EXPECT_EQ(scalar.as<float>(), std::vector<float>{4});
  EXPECT_EQ(parse_npy("", npy_bytes("<f4", "(0, 5)", {})).size(), 0);
}

TEST(Npy, ReadsStringsAsUtf8) {
  const std::u32string text = U"ab\0\u00e9\u20ac\U0001F600"s;
  const NpyArray array = parse_npy("", npy_bytes("<U3", "(2,)", raw(std::vector<char32_t>(text.begin(), text.end()))));
  EXPECT_EQ(array.strings(), (std::vector<std::string>{"ab", "\u00e9\u20ac\U0001F600"}));
  EXPECT_EQ(parse_npy("", npy_bytes("|S2", "(2,)", {'a', 0, 'b', 'c'})).strings(), (std::vector<std::string>{"a", "bc"}));
  EXPECT_TRUE(says(error_of([] { parse_npy("", npy_bytes("<U1", "(1,)", {0, 0, 0, 0x7f})).strings(); }), "does not exist"));
}

TEST(Npy, ConvertsNothingSilently) {
  const NpyArray array = parse_npy("that.npy", floats());
  EXPECT_EQ(error_of([&] { array.as<double>(); }), "that.npy: its elements are `<f4`, not `<f8`");
  EXPECT_TRUE(says(error_of([&] { array.as<std::int32_t>(); }), "not `<i4`"));
  EXPECT_TRUE(says(error_of([&] { array.strings(); }), "not strings"));
}

TEST(Npy, RefusesWhatItCanNotRead) {
  EXPECT_TRUE(says(npy_fault(npy_bytes("|O", "(2,)", {1, 2, 3})), "pickle"));
  EXPECT_TRUE(says(npy_fault(npy_bytes(">f4", "(1,)", {1, 2, 3, 4})), "big-endian"));
  EXPECT_TRUE(says(npy_fault(npy_bytes("<f4", "(1,)", {1, 2, 3, 4}, true)), "Fortran"));
  EXPECT_TRUE(says(npy_fault(npy_bytes("<c8", "(1,)", Bytes(8))), "not known"));
  EXPECT_TRUE(says(npy_fault(npy_bytes("<U0", "(1,)", {})), "not known"));
  EXPECT_TRUE(says(npy_fault(npy_bytes("<f99999999999999999999", "(1,)", {})), "not known"));
  EXPECT_TRUE(says(npy_fault({'P', 'K'}), "numpy's mark"));
  Bytes future = floats();
  future[6] = 9;
  EXPECT_TRUE(says(npy_fault(future), "version 9"));
}

TEST(Npy, RefusesClaimsTheFileCanNotMeet) {
  EXPECT_TRUE(says(npy_fault(npy_bytes("<f4", "(2, 4)", raw(kFloats))), "claims 32 bytes of data, but 24 follow"));
  EXPECT_TRUE(says(npy_fault(npy_bytes("<f4", "(2, 2)", raw(kFloats))), "claims 16 bytes"));
  EXPECT_TRUE(says(npy_fault(npy_bytes("<f4", "(-2, 3)", raw(kFloats))), "not a plain number"));
  EXPECT_TRUE(says(npy_fault(npy_bytes("<f4", "(4000000000, 4000000000, 4000000000)", {})), "more than 4 GiB"));
  EXPECT_TRUE(says(npy_fault(npy_bytes("<f4", "(4000000000, 4000000000, 4000000000, 0)", {})), "more than 4 GiB"));
  EXPECT_TRUE(says(npy_fault(npy_bytes("<f4", "(99999999999999999999999,)", {})), "more than 4 GiB"));
  EXPECT_NE(npy_fault(npy_bytes("<f4", "(2, 3", raw(kFloats))), "");
  const Bytes whole = floats();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_NE(npy_fault(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length))), "") << "cut at " << length;
  }
}

class NpzFile : public ::testing::Test {
 protected:
  Npz open(const Bytes& contents) { return Npz::open(path_ = folder_.write("that.npz", contents)); }
  std::string fault(const Bytes& contents, const std::string& name = "a/b#s7") {
    const std::string sentence = error_of([&] { open(contents).array(name); });
    if (!sentence.empty()) {
      EXPECT_EQ(sentence.find(path_.string()), 0U) << sentence;
    }
    return sentence;
  }
  const std::vector<std::pair<std::string, Bytes>> members_ = {{"a/b#s7.npy", floats()}, {"y.npy", npy_bytes("|u1", "(3,)", {7, 8, 9})}};

  TempFolder folder_;
  std::filesystem::path path_;
};

TEST_F(NpzFile, IsReadStoredAndDeflatedAndAsZip64) {
  for (const bool deflated : {false, true}) {
    for (const bool zip64 : {false, true}) {
      Npz npz = open(zip_bytes(members_, deflated, zip64));
      EXPECT_EQ(npz.names(), (std::vector<std::string>{"a/b#s7", "y"}));
      EXPECT_TRUE(npz.contains("y"));
      EXPECT_FALSE(npz.contains("x"));
      EXPECT_EQ(npz.array("a/b#s7").as<float>(), kFloats);
      EXPECT_EQ(npz.array("y").as<std::uint8_t>(), (Bytes{7, 8, 9}));
    }
  }
}

TEST_F(NpzFile, MayHaveACommentAtItsEnd) {
  Bytes contents = zip_bytes(members_, true);
  contents[contents.size() - 2] = 5;
  for (const char c : {'h', 'e', 'l', 'l', 'o'}) contents.push_back(static_cast<unsigned char>(c));
  EXPECT_EQ(open(contents).array("y").size(), 3);
}

TEST_F(NpzFile, NamesWhatItLacks) {
  EXPECT_TRUE(says(fault(zip_bytes(members_, true), "z"), "holds no array `z`"));
  EXPECT_TRUE(says(error_of([&] { Npz::open(folder_.path() / "none.npz"); }), "none.npz: there is no such file"));
}

TEST_F(NpzFile, NoticesDamage) {
  Bytes stored = zip_bytes(members_, false);
  const std::size_t element = 30 + members_[0].first.size() + floats().size() - 3;
  stored[element] ^= 4;
  EXPECT_TRUE(says(fault(stored), "checksum"));
  EXPECT_TRUE(says(fault(zip_bytes({members_[0], members_[0]}, true)), "twice"));
  EXPECT_TRUE(says(fault({1, 2, 3}), "not a zip file"));
  EXPECT_TRUE(says(fault(Bytes(1000)), "not a zip file"));
}

TEST_F(NpzFile, IsRefusedWhenTruncatedAtAnyByte) {
  for (const bool zip64 : {false, true}) {
    const Bytes whole = zip_bytes(members_, true, zip64);
    for (std::size_t length = 0; length < whole.size(); ++length) {
      EXPECT_NE(fault(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length))), "") << "cut at " << length;
    }
  }
}

TEST_F(NpzFile, CanNotClaimMoreThanItHolds) {
  // The directory's entry of the only member stands 22 bytes of end record and 46 + name bytes of entry before the end.
  const std::vector<std::pair<std::string, Bytes>> one = {members_[0]};
  const std::size_t entry_bytes = 46 + members_[0].first.size();
  for (const bool deflated : {false, true}) {
    Bytes contents = zip_bytes(one, deflated);
    const std::size_t entry = contents.size() - 22 - entry_bytes;
    for (std::size_t i = 0; i < 4; ++i) contents[entry + 24 + i] = i == 3 ? 0x7f : 0xff;  // its size
    EXPECT_TRUE(says(fault(contents), "claims 2147483647 bytes")) << fault(contents);
  }
  Bytes many = zip_bytes(one, true);
  many[many.size() - 12] = 0xfe;  // members of the directory
  many[many.size() - 11] = 0xff;
  EXPECT_TRUE(says(fault(many), "claims 65534 members")) << fault(many);
}

}  // namespace
}  // namespace lockstep
