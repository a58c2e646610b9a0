// What the numbers of Keras' Reuters newswires stand for.
#pragma once

#include <string>
#include <vector>

namespace lockstep {

// Keras' reuters.get_label_names(): the 46 topics, by label.
std::vector<std::string> reuters_label_names();

// By number, as they stand in load_reuters' sequences with its defaults: 0 padding, 1 the start of a text, 2 a word outside the vocabulary,
// then the words. From reuters_word_index.json (the file of Keras' get_word_index) beside the newswires; empty when it is not there.
std::vector<std::string> reuters_words(const std::string& directory = "");

}  // namespace lockstep
