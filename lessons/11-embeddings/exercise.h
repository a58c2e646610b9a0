// Lesson 11: sparse gradients, Nadam, and the double softmax.
#pragma once

#include "lesson.h"

namespace lesson {

// `words` has a word number for each place in the batch, `gradients` the gradient of each place: `width` floats, one place after another.
// Returns for every word that occurs the sum of its gradients, `width` floats.
inline std::map<std::int32_t, std::vector<float>> sum_by_word(const std::vector<std::int32_t>& words, const std::vector<float>& gradients,
                                                              std::size_t width) {
  return {};  // Your code.
}

// Whether each replica receives fewer bytes when rows are sent instead of the whole table. Whole: 2 S (n-1)/n with S = 4 * rows * width.
// By rows: `rows_in_use` rows from each of the n-1 others, each with `width` floats and its number (4 bytes).
inline bool send_rows(std::int64_t rows, std::int64_t width, std::int64_t rows_in_use, int replicas) {
  return false;  // Your code.
}

// The state of one weight. `product` is U(t-1), 1 before the first step.
struct NadamState {
  double m = 0, v = 0, product = 1;
};
// One step, as on the page. `iteration` is 0 in the first one. Returns the new weight.
inline double nadam_update(double w, NadamState& state, double g, int iteration, double learning_rate, double beta1, double beta2,
                           double epsilon) {
  return w;  // Your code.
}

// -log of the softmax of the scores at `label`. Large scores must not overflow.
inline double loss_from_scores(const std::vector<double>& scores, std::size_t label) {
  return 0;  // Your code.
}

// The lowest loss that a model can reach when its probabilities go through a second softmax.
inline double lowest_double_softmax_loss(int classes) {
  return 0;  // Your code.
}

}  // namespace lesson
