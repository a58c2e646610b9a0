// IDX files, right and wrong.
#include "engine/data/files/idx.h"

#include <gtest/gtest.h>

#include "tests/engine/data/support/tiny_files.h"

namespace lockstep {
namespace {

using testing::Bytes;
using testing::gzip;
using testing::idx_bytes;
using testing::TempFolder;

class Idx : public ::testing::Test {
 protected:
  // The error of reading these bytes, which must name the file; empty when they are read.
  std::string fault(const Bytes& contents) {
    const auto path = folder_.write("file", contents);
    const std::string sentence = error_of([&] { read_idx(path); });
    if (!sentence.empty()) {
      EXPECT_EQ(sentence.find(path.string() + ": "), 0U) << sentence;
    }
    return sentence;
  }
  void expect_fault(const Bytes& contents, const std::string& part) {
    for (const Bytes& form : {contents, gzip(contents)}) EXPECT_NE(fault(form).find(part), std::string::npos) << fault(form);
  }

  TempFolder folder_;
  const Bytes elements_ = {1, 2, 3, 4, 5, 250};
};

TEST_F(Idx, ReadsPlainAndCompressed) {
  for (const Bytes& contents : {idx_bytes({2, 3}, elements_), gzip(idx_bytes({2, 3}, elements_))}) {
    const IdxArray array = read_idx(folder_.write("file", contents));
    EXPECT_EQ(array.shape, (std::vector<std::int64_t>{2, 3}));
    EXPECT_EQ(array.bytes, elements_);
  }
  EXPECT_TRUE(read_idx(folder_.write("file", idx_bytes({0}, {}))).bytes.empty());
}

TEST_F(Idx, NamesAFileThatIsNotThere) {
  EXPECT_NE(error_of([&] { read_idx(folder_.path() / "missing"); }).find("missing: there is no such file"), std::string::npos);
  EXPECT_NE(error_of([&] { read_idx(folder_.path()); }).find("not a regular file"), std::string::npos);
}

TEST_F(Idx, RefusesWhatIsNotIdx) {
  expect_fault({1, 0, 8, 1, 0, 0, 0, 0}, "two zero bytes");
  expect_fault(idx_bytes({2, 3}, elements_, 13), "type 13");
  expect_fault(idx_bytes({}, {}), "claims 0 extents");
  expect_fault(idx_bytes(std::vector<std::uint32_t>(9, 1), {1}), "claims 9 extents");
  EXPECT_NE(fault({}), "");
  EXPECT_NE(fault({0}), "");
}

TEST_F(Idx, RefusesClaimsTheFileCanNotMeet) {
  EXPECT_NE(fault(idx_bytes({2, 4}, elements_)).find("claims 8 bytes of data, but 6 follow: it is truncated"), std::string::npos);
  EXPECT_NE(fault(gzip(idx_bytes({2, 4}, elements_))).find("end 2 bytes before"), std::string::npos);
  EXPECT_NE(fault(idx_bytes({5}, elements_)).find("something behind its end"), std::string::npos);
  EXPECT_NE(fault(gzip(idx_bytes({5}, elements_))).find("too long"), std::string::npos);
  expect_fault(idx_bytes({0xffffffff, 0xffffffff, 0xffffffff}, elements_), "more than 4 GiB");
  expect_fault(idx_bytes({0xffffffff, 0xffffffff, 0xffffffff, 0}, {}), "more than 4 GiB");
  expect_fault(idx_bytes({0x80000000, 2}, elements_), "claims 4294967296 bytes");  // negative in other readers
  EXPECT_NE(fault(gzip(idx_bytes({3000000000U}, elements_))).find("compressed bytes can hold"), std::string::npos);
  // What the compressed bytes could hold and no data set has: refused before it is unpacked.
  std::vector<std::uint8_t> noise(400000);
  for (std::size_t i = 0; i < noise.size(); ++i) noise[i] = static_cast<std::uint8_t>(i * i * 2654435761U >> 13);
  EXPECT_NE(fault(gzip(idx_bytes({400000, 28, 28}, noise))).find("more than any data set"), std::string::npos);
}

TEST_F(Idx, RefusesATruncatedFileAtEveryByte) {
  for (const Bytes& whole : {idx_bytes({2, 3}, elements_), gzip(idx_bytes({2, 3}, elements_))}) {
    for (std::size_t length = 0; length < whole.size(); ++length) {
      EXPECT_NE(fault(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length))), "") << "cut at " << length;
    }
    Bytes longer = whole;
    longer.push_back(0);
    EXPECT_NE(fault(longer), "");
  }
}

TEST_F(Idx, NoticesDamageInsideCompressedData) {
  Bytes damaged = gzip(idx_bytes({2, 3}, elements_));
  damaged[damaged.size() - 6] ^= 1;  // its checksum
  EXPECT_NE(fault(damaged).find("damaged"), std::string::npos) << fault(damaged);
}

TEST_F(Idx, InflatesABombNoFurtherThanItsClaim) {
  // 64 MiB of zeros behind a header that claims 10 of them: refused after 10, with nothing larger than that in memory.
  Bytes contents = idx_bytes({10}, Bytes(std::size_t{64} << 20));
  const Bytes bomb = gzip(contents);
  ASSERT_LT(bomb.size(), std::size_t{1} << 20);
  EXPECT_NE(fault(bomb).find("too long"), std::string::npos);
}

}  // namespace
}  // namespace lockstep
