// Keras' Reuters: the split, the numbering of words, padding; on a small file, and on the real one where LOCKSTEP_DATA has it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>

#include "engine/data/files/npz.h"
#include "engine/data/legacy_random.h"
#include "lockstep/sequences.h"
#include "tests/engine/data/support/pickles.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

// numpy.random.RandomState(113): arange(10) shuffled, as numpy gives it.
TEST(LegacyRandom, ShufflesAsNumpyDoes) {
  EXPECT_EQ(legacy_permutation(113, 10), (std::vector<std::uint32_t>{9, 3, 6, 1, 0, 7, 4, 8, 2, 5}));
  EXPECT_EQ(legacy_permutation(0, 7), (std::vector<std::uint32_t>{6, 2, 1, 3, 0, 5, 4}));
  EXPECT_EQ(legacy_permutation(1, 1), (std::vector<std::uint32_t>{0}));
  EXPECT_TRUE(legacy_permutation(1, 0).empty());
}

std::vector<std::int32_t> row(const Array& array, std::int64_t i) {
  const auto* values = array.data<std::int32_t>() + i * array.shape()[1];
  return {values, values + array.shape()[1]};
}

TEST(PadSequences, PadsAndCutsBeforeOrBehind) {
  const Sequences lists = {{1, 2, 3, 4}, {5}, {}};
  const Array pre = pad_sequences(lists, 3);
  EXPECT_EQ(pre.shape(), Shape({3, 3}));
  EXPECT_EQ(row(pre, 0), (std::vector<std::int32_t>{2, 3, 4}));
  EXPECT_EQ(row(pre, 1), (std::vector<std::int32_t>{0, 0, 5}));
  EXPECT_EQ(row(pre, 2), (std::vector<std::int32_t>{0, 0, 0}));
  const Array post = pad_sequences(lists, 3, "post", "post", 9);
  EXPECT_EQ(row(post, 0), (std::vector<std::int32_t>{1, 2, 3}));
  EXPECT_EQ(row(post, 1), (std::vector<std::int32_t>{5, 9, 9}));
  EXPECT_EQ(row(pad_sequences(lists, 3, "post"), 0), (std::vector<std::int32_t>{2, 3, 4}));
  EXPECT_EQ(pad_sequences(lists).shape(), Shape({3, 4}));
  EXPECT_EQ(pad_sequences({}, 5).shape(), Shape({0, 5}));
  EXPECT_NE(error_of([&] { pad_sequences(lists, 3, "before"); }), "");
  EXPECT_NE(error_of([&] { pad_sequences(lists, -1); }), "");
}

class TinyReuters : public ::testing::Test {
 protected:
  void write(const Sequences& texts, const std::vector<std::int64_t>& topics) const {
    folder_.write(
        "reuters/reuters.npz",
        testing::zip_bytes({{"x.npy", testing::npy_of_lists(testing::pickled(texts), texts.size())},
                            {"y.npy", testing::npy_bytes("<i8", "(" + std::to_string(topics.size()) + ",)", testing::raw(topics))}},
                           true));
  }
  ReutersOptions options() const { return ReutersOptions().directory(folder_.path().string()).allow_download(false); }
  testing::TempFolder folder_;
};

TEST_F(TinyReuters, IsShuffledNumberedAndSplitAsKerasDoes) {
  Sequences texts;
  std::vector<std::int64_t> topics(10);
  for (int i = 0; i < 10; ++i) texts.push_back({i + 1, 20});
  std::iota(topics.begin(), topics.end(), 0);
  write(texts, topics);
  const Reuters reuters = load_reuters(options());
  ASSERT_EQ(reuters.x_train.size(), 8U);
  ASSERT_EQ(reuters.x_test.size(), 2U);
  const auto order = legacy_permutation(113, 10);
  for (std::size_t i = 0; i < 10; ++i) {
    const auto& text = i < 8 ? reuters.x_train[i] : reuters.x_test[i - 8];
    const auto topic = i < 8 ? reuters.y_train.data<std::int32_t>()[i] : reuters.y_test.data<std::int32_t>()[i - 8];
    EXPECT_EQ(topic, static_cast<std::int32_t>(order[i]));
    // start, word + 3, and the largest of all: out of vocabulary.
    EXPECT_EQ(text, (std::vector<std::int32_t>{1, static_cast<std::int32_t>(order[i]) + 4, 2}));
  }
  const Reuters few = load_reuters(options().num_words(10).skip_top(6).start_char(7).index_from(0).oov_char(0).test_split(0.5));
  ASSERT_EQ(few.x_train.size(), 5U);
  const auto word = static_cast<std::int32_t>(order[0]) + 1;
  EXPECT_EQ(few.x_train[0], (std::vector<std::int32_t>{7, word >= 6 && word < 10 ? word : 0, 0}));
  EXPECT_NE(error_of([&] { load_reuters(options().maxlen(2)); }).find("maxlen"), std::string::npos);
}

TEST_F(TinyReuters, DamageIsASentenceThatNamesTheFile) {
  write({{1}, {2}}, {0});
  EXPECT_NE(error_of([&] { load_reuters(options()); }).find("1 labels for 2 newswires"), std::string::npos);
  write({{-4}}, {0});
  EXPECT_NE(error_of([&] { load_reuters(options()); }).find("reuters.npz"), std::string::npos);
  write({{4}}, {-1});
  EXPECT_NE(error_of([&] { load_reuters(options()); }).find("reuters.npz"), std::string::npos);
}

TEST(Reuters, MissingIsASentenceThatSaysWhatToDo) {
  const testing::TempFolder empty;
  const testing::Environment data("LOCKSTEP_DATA", empty.path().string());
  const testing::Environment home("HOME", empty.path().string());
  const testing::Environment cache("XDG_CACHE_HOME", std::nullopt);
  const std::string sentence = error_of([] { load_reuters(ReutersOptions().allow_download(false)); });
  EXPECT_NE(sentence.find("Put it into ./data"), std::string::npos) << sentence;
}

TEST(Reuters, TheRealFileIsKeras) {
  const char* data = std::getenv("LOCKSTEP_DATA");
  const fs::path folder = data ? fs::path(data) / "reuters" : fs::path();
  if (!data || !fs::exists(folder / "reuters.npz")) GTEST_SKIP() << "skipped: LOCKSTEP_DATA has no reuters/reuters.npz";
  const Reuters reuters = load_reuters();
  ASSERT_EQ(reuters.x_train.size(), 8982U);
  ASSERT_EQ(reuters.x_test.size(), 2246U);
  EXPECT_EQ(reuters.y_train.samples(), 8982);
  const std::vector<std::int32_t> begin = {1, 27595, 28842, 8, 43, 10, 447, 5, 25, 207};  // as every tutorial shows it
  EXPECT_EQ(std::vector<std::int32_t>(reuters.x_train[0].begin(), reuters.x_train[0].begin() + 10), begin);
  EXPECT_EQ(reuters.y_train.data<std::int32_t>()[0], 3);

  // Every token and every label, against the same data without pickles and in the recorded order.
  if (!fs::exists(folder / "reuters_keras_order_u16.npy")) GTEST_SKIP() << "skipped: no recorded order beside it";
  const auto order = read_npy(folder / "reuters_keras_order_u16.npy").as<std::uint16_t>();
  const auto tokens = read_npy(folder / "reuters_tokens_u16.npy").as<std::uint16_t>();
  const auto offsets = read_npy(folder / "reuters_offsets_u32.npy").as<std::uint32_t>();
  const auto labels = read_npy(folder / "reuters_labels_u8.npy").as<std::uint8_t>();
  ASSERT_EQ(order.size(), 11228U);
  int outside = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const bool train = i < 8982;
    const auto& text = train ? reuters.x_train[i] : reuters.x_test[i - 8982];
    const Array& topics = train ? reuters.y_train : reuters.y_test;
    ASSERT_EQ(topics.data<std::int32_t>()[train ? i : i - 8982], labels[order[i]]) << i;
    ASSERT_EQ(text.size(), 1U + offsets[order[i] + 1U] - offsets[order[i]]) << i;
    for (std::size_t k = 1; k < text.size(); ++k) {
      const std::int32_t id = tokens[offsets[order[i]] + k - 1] + 3;
      outside += id == 30982;
      ASSERT_EQ(text[k], id == 30982 ? 2 : id) << i;
    }
  }
  EXPECT_EQ(outside, 1) << "Keras loses one word";
}

}  // namespace
}  // namespace lockstep
