// Texts as lists of word numbers: padding them to one length, and Keras' Reuters newswires.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/array.h"

namespace lockstep {

using Sequences = std::vector<std::vector<std::int32_t>>;

// Keras' pad_sequences: an int32 array (sequences, maxlen). Where a sequence is too short `value` is put before it ("pre") or behind it
// ("post"); where it is too long its beginning ("pre") or its end ("post") is cut off. maxlen 0: as long as the longest.
Array pad_sequences(const Sequences& sequences, std::int64_t maxlen = 0, const std::string& padding = "pre",
                    const std::string& truncating = "pre", std::int32_t value = 0);

// Keyword arguments of keras.datasets.reuters.load_data, with its defaults.
class ReutersOptions {
 public:
  ReutersOptions& num_words(std::int32_t n) { return num_words_ = n, *this; }  // words from this number on become oov_char; 0: see below
  ReutersOptions& skip_top(std::int32_t n) { return skip_top_ = n, *this; }    // and words below this one
  ReutersOptions& maxlen(std::int64_t n) { return maxlen_ = n, *this; }        // texts of this length or longer are left out; 0: none
  ReutersOptions& test_split(double share) { return test_split_ = share, *this; }
  ReutersOptions& seed(std::uint32_t seed) { return seed_ = seed, *this; }
  ReutersOptions& start_char(std::int32_t n) { return start_char_ = n, *this; }  // put before every text
  ReutersOptions& oov_char(std::int32_t n) { return oov_char_ = n, *this; }
  ReutersOptions& index_from(std::int32_t n) { return index_from_ = n, *this; }                    // added to every word
  ReutersOptions& directory(std::string folder) { return directory_ = std::move(folder), *this; }  // looked into first
  ReutersOptions& allow_download(bool yes) { return allow_download_ = yes, *this; }

 private:
  friend struct ReutersLoader;
  std::int32_t num_words_ = 0;
  std::int32_t skip_top_ = 0;
  std::int64_t maxlen_ = 0;
  double test_split_ = 0.2;
  std::uint32_t seed_ = 113;
  std::int32_t start_char_ = 1;
  std::int32_t oov_char_ = 2;
  std::int32_t index_from_ = 3;
  std::string directory_;
  bool allow_download_ = true;
};

// 11,228 newswires of 46 topics, in Keras' order (numpy's RandomState(113)), 8,982 to train and 2,246 to test. As in Keras, without
// num_words the largest word number itself counts as outside the vocabulary: all ids are below 30,982.
struct Reuters {
  Sequences x_train, x_test;
  Array y_train, y_test;  // int32
  std::string source;     // a sentence: where they came from
};

// reuters.npz under LOCKSTEP_DATA, ./data, ~/.keras/datasets, else downloaded with a checksum, else an Error that says what to do. Its
// Python objects are read by a reader that executes nothing.
Reuters load_reuters(const ReutersOptions& options = {});

}  // namespace lockstep
