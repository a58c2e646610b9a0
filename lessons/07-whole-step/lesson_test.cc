// The tests of lesson 7. Your file is included before this one.
#include "lesson_test.h"

namespace lesson {

constexpr std::int64_t kSamples = 640, kTestSamples = 200;

struct Digits {
  Digits() {
    lockstep::DataOptions options;
    options.allow_download = false;
    options.drawn_train = kSamples;
    options.drawn_test = kTestSamples;
    const lockstep::Mnist all = lockstep::load_mnist(options);
    x = all.x_train.slice(0, kSamples);
    y = all.y_train.slice(0, kSamples);
    x_test = all.x_test.slice(0, kTestSamples);
    y_test = all.y_test.slice(0, kTestSamples);
  }
  lockstep::Array x, y, x_test, y_test;
};
const Digits& digits() {
  static const Digits all;
  return all;
}
const float* images(std::int64_t first = 0) { return digits().x.data<float>() + first * kPixels; }
const std::int32_t* labels(std::int64_t first = 0) { return digits().y.data<std::int32_t>() + first; }

std::string phases(const Trainer& trainer, std::size_t most = 16) {
  std::string text;
  for (std::size_t i = 0; i < trainer.log().size() && i < most; ++i) text += (i ? ", " : "") + trainer.log()[i];
  return text.empty() ? "nothing" : text + (trainer.log().size() > most ? ", ..." : "");
}

void expect_close(const std::vector<float>& got, const std::vector<float>& wanted, const std::string& what, const Trainer& trainer) {
  const std::int64_t i = first_difference(got, wanted, 2e-5);
  REQUIRE(i < 0) << what << ": weight " << i << " should be " << number(wanted[static_cast<std::size_t>(i)]) << " and is "
                 << number(got[static_cast<std::size_t>(i)]) << ".\nYou called: " << phases(trainer) << ".";
}

TEST(Step, OneReplicaLearnsFromABatch) {
  Trainer trainer(1, 64);
  const std::vector<float> before = trainer.weights(0);
  const double first = train_step(trainer, images(), labels(), 64, 0.1F);
  EXPECT(std::abs(first - 2.4) < 0.5) << "The loss of the first step is " << number(first)
                                      << "; before any training it is near log 10 = 2.3.";
  EXPECT(!same_bits(before, trainer.weights(0))) << "After a step the weights are what they were. You called: " << phases(trainer) << ".";
  for (int i = 0; i < 4; ++i) train_step(trainer, images(), labels(), 64, 0.1F);
  const double later = train_step(trainer, images(), labels(), 64, 0.1F);
  EXPECT(later < 0.9 * first) << "Five more steps on the same samples: the loss should fall from " << number(first) << " and is "
                              << number(later) << ".";
}

void four_like_one(std::int64_t samples) {
  Trainer one(1, 64), four(4, 64);
  four.replicate();
  for (int step = 1; step <= 3; ++step) {
    const std::int64_t first = (step - 1) * 64;
    const double alone = train_step(one, images(first), labels(first), samples, 0.1F);
    const double together = train_step(four, images(first), labels(first), samples, 0.1F);
    REQUIRE(std::abs(alone - together) < 1e-4) << samples << " samples, step " << step << ": the mean loss is " << number(alone)
                                               << " on one replica, but " << number(together) << " on four. Their ratio is "
                                               << number(together / alone) << ".";
    for (int r = 0; r < 4; ++r) {
      expect_close(four.weights(r), one.weights(0),
                   "After step " + std::to_string(step) + " with " + std::to_string(samples) + " samples, replica " + std::to_string(r) +
                       " of four differs from one device with the whole batch",
                   four);
      if (testing::Test::HasFailure()) return;
    }
  }
}
TEST(Step, FourReplicasGiveWhatOneGives) {
  passes_without_code();
  four_like_one(64);
}
TEST(Step, AlsoWithUnevenShards) {
  passes_without_code();
  four_like_one(30);
}
TEST(Step, AlsoWithFewerSamplesThanReplicas) {
  passes_without_code();
  four_like_one(3);
}

TEST(Train, ReplicatesOnceAndStaysMirrored) {
  Trainer trainer(4, 64);
  const std::vector<double> losses = train(trainer, images(), labels(), 256, 64, 2, 0.1F);
  REQUIRE(losses.size() == 2) << "2 epochs have 2 losses; you give " << losses.size() << ".";
  for (int r = 1; r < 4; ++r) {
    const std::vector<float> first = trainer.weights(0), other = trainer.weights(r);
    const std::int64_t i = std::max<std::int64_t>(0, first_difference(first, other));
    REQUIRE(same_bits(first, other)) << "After 8 steps replica " << r << " differs from replica 0: weight " << i << " is "
                                     << number(other[static_cast<std::size_t>(i)]) << " and not "
                                     << number(first[static_cast<std::size_t>(i)])
                                     << ". They start with different weights: which phase makes them equal?";
  }
  const auto times = std::count(trainer.log().begin(), trainer.log().end(), "replicate");
  EXPECT(times == 1) << "replicate() was called " << times
                     << " times in 8 steps. Once is enough: the same updates keep the replicas equal.";
}

TEST(Train, TheLastBatchIsSmaller) {
  Trainer trainer(4, 32);
  train(trainer, images(), labels(), 70, 32, 1, 0.1F);
  const auto steps = std::count(trainer.log().begin(), trainer.log().end(), "all-reduce");
  EXPECT(steps == 3) << "70 samples in batches of 32 are 3 steps (32, 32, 6); you made " << steps << ".";
}

TEST(Train, TheLossOfAnEpochIsTheMeanOverItsSamples) {
  Trainer trainer(2, 32);
  trainer.replicate();
  double wanted = 0;
  for (const auto& [first, count] : {std::pair{0, 32}, std::pair{32, 32}, std::pair{64, 6}}) {
    double loss = train_step(trainer, images(first), labels(first), count, 0.5F);
    wanted += loss * count / 70;
  }
  Trainer again(2, 32);
  const std::vector<double> losses = train(again, images(), labels(), 70, 32, 1, 0.5F);
  REQUIRE(losses.size() == 1) << "One epoch has one loss; you give " << losses.size() << ".";
  EXPECT(std::abs(losses[0] - wanted) < 1e-4) << "Batches of 32, 32 and 6 samples: the mean over the 70 samples is " << number(wanted)
                                              << "; you say " << number(losses[0]) << ".";
}

// The engine has the 10 weights of a pixel beside each other.
std::vector<float> as_engine(const std::vector<float>& weights) {
  std::vector<float> turned = weights;
  for (std::int64_t i = 0; i < kPixels * kDigits; ++i)
    turned[static_cast<std::size_t>(i)] = weights[static_cast<std::size_t>(i % kDigits * kPixels + i / kDigits)];
  return turned;
}

TEST(Train, EqualsTheEngine) {
  Trainer trainer(4, 64);
  const std::vector<float> start = as_engine(trainer.weights(0));
  lockstep::MirroredStrategy strategy({"/gpu:4", "/gpu:5"});
  lockstep::Model model = strategy.scope([] {
    lockstep::Sequential m({lockstep::Flatten(), lockstep::Dense(10)});
    m.compile(lockstep::SGD(0.1F), lockstep::SparseCategoricalCrossentropy().from_logits());
    return m;
  });
  model.build({28, 28, 1});
  std::vector<lockstep::NamedArray> weights = model.get_weights();
  weights[0].values = lockstep::Array({kPixels, kDigits}, std::vector<float>(start.begin(), start.begin() + kPixels * kDigits));
  weights[1].values = lockstep::Array({kDigits}, std::vector<float>(start.begin() + kPixels * kDigits, start.end()));
  model.set_weights(weights);
  for (std::int64_t first = 0; first < 320; first += 64) model.train_on_batch(digits().x.slice(first, 64), digits().y.slice(first, 64));
  train(trainer, images(), labels(), 320, 64, 1, 0.1F);
  const std::vector<lockstep::NamedArray> trained = model.get_weights();
  std::vector<float> wanted(trained[0].values.data<float>(), trained[0].values.data<float>() + kPixels * kDigits);
  wanted.insert(wanted.end(), trained[1].values.data<float>(), trained[1].values.data<float>() + kDigits);
  expect_close(as_engine(trainer.weights(0)), wanted, "Five steps of yours on 4 replicas and of the engine on 2", trainer);
}

const float* test_image(std::int64_t i) { return digits().x_test.data<float>() + i * kPixels; }

// The most probable digit, and its probability.
std::pair<std::int64_t, double> guess(const float* pixels, const std::vector<float>& weights) {
  std::array<float, kDigits> scores{};
  score_digits(pixels, weights.data(), scores.data());
  const auto most = std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (const float score : scores) sum += std::exp(static_cast<double>(score - *most));
  return {most - scores.begin(), 1 / sum};
}

// Two rows of pixels in a line of text.
std::string drawing(const float* pixels) {
  constexpr std::int64_t kSide = 28;
  const std::string shades = " .:+*#";
  std::string text;
  for (std::int64_t row = 0; row + 1 < kSide; row += 2) {
    std::string line;
    for (std::int64_t column = 0; column < kSide; ++column) {
      const float grey = (pixels[row * kSide + column] + pixels[(row + 1) * kSide + column]) / 2;
      line += shades.at(static_cast<std::size_t>(std::min(0.999F, grey) * static_cast<float>(shades.size())));
    }
    line.erase(line.find_last_not_of(' ') + 1);
    if (!line.empty()) text += line + "\n";
  }
  return text;
}

TEST(Train, LearnsToReadDigits) {
  Trainer trainer(4, 64);
  const std::vector<double> losses = train(trainer, images(), labels(), kSamples, 64, 4, 0.2F);
  REQUIRE(losses.size() == 4) << "4 epochs have 4 losses; you give " << losses.size() << ".";
  EXPECT(losses[3] < 0.6 * losses[0]) << "The loss went from " << number(losses[0]) << " in the first epoch to " << number(losses[3])
                                      << " in the fourth. It should fall below 60 % of that.";
  const std::vector<float> weights = trainer.weights(0);
  std::int64_t right = 0, example = -1;
  for (std::int64_t i = 0; i < kTestSamples; ++i) {
    if (guess(test_image(i), weights).first != digits().y_test.data<std::int32_t>()[i]) continue;
    ++right;
    if (example < 0) example = i;
  }
  REQUIRE(2 * right > kTestSamples) << "Of " << kTestSamples << " digits that it has not seen it recognises " << right
                                    << ". One in ten is what a guess gets; more than half is wanted.";
  const auto [digit, probability] = guess(test_image(example), weights);
  show("It recognises " + std::to_string(right) + " of " + std::to_string(kTestSamples) + " digits that it has not seen. One of them, a " +
       std::to_string(digit) + " with probability " + number(std::round(100 * probability) / 100) + ":\n" + drawing(test_image(example)));
}

}  // namespace lesson
