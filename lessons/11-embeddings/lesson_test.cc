// The tests of lesson 11. Your file is included before this one.
#include "lesson_test.h"

namespace lesson {

TEST(Rows, EveryWordThatOccursHasARow) {
  const auto sums = sum_by_word({4, 17, 5, 90}, {1, 2, 3, 4, 5, 6, 7, 8}, 2);
  REQUIRE(sums.size() == 4) << "The words 4, 17, 5 and 90 occur: 4 rows; you give " << sums.size() << ".";
  REQUIRE(sums.count(17) == 1 && sums.at(17).size() == 2) << "Word 17 should have a row of 2 numbers.";
  EXPECT(sums.at(17)[0] == 3 && sums.at(17)[1] == 4)
      << "Word 17 stands in place 1, whose gradient is 3, 4; you give " << list(sums.at(17)) << ".";
}

TEST(Rows, RowsOfTheSameWordAreAdded) {
  const auto sums = sum_by_word({7, 3, 7, 7}, {1, 2, 10, 20, 4, 8, 16, 32}, 2);
  REQUIRE(sums.size() == 2) << "Only the words 3 and 7 occur: 2 rows; you give " << sums.size() << ".";
  REQUIRE(sums.count(7) == 1 && sums.at(7).size() == 2) << "Word 7 should have a row of 2 numbers.";
  EXPECT(sums.at(7)[0] == 21 && sums.at(7)[1] == 42)
      << "Word 7 stands in places 0, 2 and 3: 1 + 4 + 16 = 21 and 2 + 8 + 32 = 42; you give " << list(sums.at(7)) << ".";
}

void expect_choice(std::int64_t rows, std::int64_t width, std::int64_t in_use, int n, bool wanted) {
  const double whole = 8.0 * static_cast<double>(rows * width) * (n - 1) / n;
  const double by_rows = (n - 1) * static_cast<double>(in_use * (4 * width + 4));
  EXPECT(send_rows(rows, width, in_use, n) == wanted)
      << "A table of " << rows << " rows of " << width << ", " << in_use << " rows in use on each of " << n
      << " replicas. Whole: " << number(whole) << " bytes into each replica; by rows: " << number(by_rows) << ". So "
      << (wanted ? "rows" : "the whole table") << " should be sent.";
}
TEST(SendRows, WhenThatIsLess) {
  expect_choice(30982, 7, 2000, 2, true);
  expect_choice(1000, 16, 900, 2, true);
}
TEST(SendRows, NotWhenManyReplicasSendManyRows) {
  passes_without_code();
  expect_choice(1000, 16, 900, 4, false);
  expect_choice(100, 8, 100, 8, false);
  expect_choice(30982, 7, 2000, 64, false);
}
TEST(SendRows, TheNumbersOfRowsCountToo) {
  passes_without_code();
  expect_choice(1000, 1, 600, 2, false);
}

TEST(Nadam, FirstStep) {
  NadamState state;
  const double w = nadam_update(1, state, 0.5, 0, 0.1, 0.9, 0.999, 1e-7);
  EXPECT(std::abs(state.m - 0.05) < 1e-9 && std::abs(state.v - 0.00025) < 1e-9)
      << "After the first step with g = 0.5: m should be 0.05 and v 0.00025; they are " << number(state.m) << " and " << number(state.v)
      << ".";
  EXPECT(std::abs(state.product - 0.468) < 1e-9)
      << "U(1) = u(1) = 0.9 * (1 - 0.5 * 0.96) = 0.468; the state says " << number(state.product) << ".";
  const double wanted = 1 - 0.1 * (0.48528 * 0.05 / (1 - 0.468 * 0.48528) + 0.532 * 0.5 / 0.532) / 0.5;
  EXPECT(std::abs(w - wanted) < 1e-5) << "The first step should bring w from 1 to " << number(wanted) << "; it is " << number(w) << ".";
}

TEST(Nadam, EqualsTheEngine) {
  lockstep::OneDeviceStrategy strategy("/gpu:0");
  lockstep::Model model = strategy.scope([] {
    lockstep::Sequential m({lockstep::Dense(1).use_bias(false)});
    m.compile(lockstep::Nadam(0.05F), lockstep::MeanSquaredError());
    return m;
  });
  model.build({1});
  std::vector<lockstep::NamedArray> weights = model.get_weights();
  weights[0].values = lockstep::Array({1, 1}, std::vector<float>{2.0F});
  model.set_weights(weights);
  NadamState state;
  double w = 2;
  for (int step = 0; step < 10; ++step) {
    // One sample x = 1 with the target 0.5: the loss is (w - 0.5)^2.
    model.train_on_batch(lockstep::Array({1, 1}, std::vector<float>{1.0F}), lockstep::Array({1, 1}, std::vector<float>{0.5F}));
    w = nadam_update(w, state, 2 * (w - 0.5), step, 0.05, 0.9, 0.999, 1e-7);
    const double engine = static_cast<double>(model.get_weights()[0].values.data<float>()[0]);
    REQUIRE(std::abs(w - engine) < 1e-4) << "After step " << step + 1 << " the engine's weight is " << number(engine) << " and yours "
                                         << number(w) << ". Both began at 2 and go down the loss (w - 0.5)^2.";
  }
}

TEST(Loss, IsMinusTheLogarithmOfTheProbability) {
  const double is = loss_from_scores({0, 0, 0, 0}, 2);
  EXPECT(std::abs(is - std::log(4.0)) < 1e-9) << "Four equal scores: each class has 1/4, so the loss is log 4 = 1.38629; you say "
                                              << number(is) << ".";
  const double other = loss_from_scores({1, 3, 0}, 1);
  const double wanted = -std::log(std::exp(3.0) / (std::exp(1.0) + std::exp(3.0) + 1));
  EXPECT(std::abs(other - wanted) < 1e-9) << "Scores 1, 3, 0 with label 1: the loss should be " << number(wanted) << "; you say "
                                          << number(other) << ".";
}
TEST(Loss, SurvivesLargeScores) {
  const double is = loss_from_scores({1000, 0}, 0), far = loss_from_scores({1000, 0}, 1);
  EXPECT(std::abs(is) < 1e-9) << "Scores 1000, 0 with label 0: the loss should be 0; you say " << number(is) << ". exp(1000) is infinite.";
  const double low = loss_from_scores({-1000, -1001}, 0), wanted = std::log(1 + std::exp(-1.0));
  EXPECT(std::abs(low - wanted) < 1e-9) << "Scores -1000, -1001 with label 0: the loss should be " << number(wanted) << "; you say "
                                        << number(low) << ". Is the largest score subtracted also where all are below zero?";
  EXPECT(std::abs(far - 1000) < 1e-6) << "Scores 1000, 0 with label 1: the loss should be 1000; you say " << number(far) << ".";
}

TEST(DoubleSoftmax, HasAFloor) {
  for (const int classes : {2, 10, 46}) {
    std::vector<double> sure(static_cast<std::size_t>(classes), 0.0);  // the probabilities of a model that is certain
    sure[0] = 1;
    const double floor = std::log(std::exp(1.0) + classes - 1) - 1, is = lowest_double_softmax_loss(classes);
    EXPECT(std::abs(is - floor) < 1e-9) << classes
                                        << " classes, probabilities 1, 0, 0, ...: softmax of these again gives the right class e / (e + "
                                        << classes - 1 << "), so the loss is " << number(floor) << "; you say " << number(is) << ".";
  }
}

}  // namespace lesson
