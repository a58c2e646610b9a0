// Moving statistics under several replicas: averaged by samples after every step, mirrored bit for bit, and untouched by a replica that
// has no samples.
#include <gtest/gtest.h>

#include <cmath>

#include "lockstep/lockstep.h"
#include "tests/engine/train/support/copies.h"

namespace lockstep {
namespace {

Array samples(std::int64_t n) {
  Array x(Shape{n, 3});
  for (std::int64_t i = 0; i < x.size(); ++i) x.data<float>()[i] = std::sin(static_cast<float>(7 * i % 31)) + static_cast<float>(i % 3);
  return x;
}

// The mean of one channel over a run of samples.
double mean_of(const Array& x, std::int64_t channel, std::int64_t first, std::int64_t count) {
  double sum = 0;
  for (std::int64_t n = first; n < first + count; ++n) sum += x.data<float>()[n * 3 + channel];
  return sum / static_cast<double>(count);
}

TEST(MovingStatistics, AreAveragedBySamplesAndStayMirrored) {
  const Strategy strategy = MirroredStrategy(split_gpu(0, std::vector<std::int64_t>(3, 256)));
  Model model = strategy.scope([]() -> Model { return Sequential({Input({3}), BatchNormalization().momentum(0.5F), Dense(2)}); });
  model.compile(SGD(0.1F), SparseCategoricalCrossentropy().from_logits());
  model.check_mirrored(true);  // an Error when a replica's copy differs by a bit
  double expected[3] = {0, 0, 0};
  for (const std::int64_t n : {8, 2, 1, 7}) {  // shares of 3, 3, 2; of 1, 1, 0; of 1, 0, 0; of 3, 2, 2
    const Array x = samples(n);
    model.train_on_batch(x, Array(Shape{n}, std::vector<std::int32_t>(static_cast<std::size_t>(n), 1)));
    for (std::int64_t c = 0; c < 3; ++c) expected[c] = 0.5 * expected[c] + 0.5 * mean_of(x, c, 0, n);
    for (const NamedArray& weight : model.get_weights()) {
      if (weight.name != "batch_normalization/moving_mean") continue;
      for (std::int64_t c = 0; c < 3; ++c) EXPECT_NEAR(weight.values.data<float>()[c], expected[c], 1e-5) << "batch of " << n;
    }
  }
  testing::expect_equal_copies(model);
}

}  // namespace
}  // namespace lockstep
