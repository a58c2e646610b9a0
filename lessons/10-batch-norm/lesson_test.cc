// The tests of lesson 10. Your file is included before this one.
#include "lesson_test.h"

namespace lesson {

std::string words(const Moments& m) {
  return "count " + std::to_string(m.count) + ", mean " + number(m.mean) + ", variance " + number(m.variance);
}

void expect_moments(const Moments& is, const Moments& wanted, const std::string& what) {
  EXPECT(is.count == wanted.count && std::abs(is.mean - wanted.mean) < 1e-5 && std::abs(is.variance - wanted.variance) < 1e-5)
      << what << ":\nwanted: " << words(wanted) << "\nyours:  " << words(is);
}

// Numbers without a pattern, the same every time.
float drawn(std::int64_t i) { return static_cast<float>((i * 7919 + 104729) % 2003) / 300.0F; }

std::vector<float> some(std::int64_t first, std::int64_t count) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(drawn(first + i));
  return values;
}

TEST(Statistics, OfOneReplica) {
  expect_moments(moments({1, 3, 5, 7}), {4, 4, 5}, "The moments of 1, 3, 5, 7");
  expect_moments(moments({}), {0, 0, 0}, "The moments of no values at all");
}

TEST(Statistics, EqualShardsAreMerged) {
  expect_moments(merge({{4, 1, 0}, {4, 5, 0}}), {8, 3, 4}, "1 1 1 1 on replica 0 and 5 5 5 5 on replica 1");
}

TEST(Statistics, UnevenAndEmptyShardsToo) {
  const std::vector<float> all = some(0, 10);
  double mean = 0, variance = 0;
  for (const float value : all) mean += static_cast<double>(value) / 10;
  for (const float value : all) variance += (value - mean) * (value - mean) / 10;
  const auto of = [](const std::vector<float>& values) {  // without your function
    Moments m{static_cast<std::int64_t>(values.size()), 0, 0};
    for (const float value : values) m.mean += static_cast<double>(value) / static_cast<double>(values.size());
    for (const float value : values) m.variance += (value - m.mean) * (value - m.mean) / static_cast<double>(values.size());
    return m;
  };
  expect_moments(merge({of(some(0, 7)), of(some(7, 2)), of(some(9, 1)), {0, 0, 0}}), {10, mean, variance},
                 "10 values in shards of 7, 2, 1 and 0");
  expect_moments(merge({{0, 0, 0}, {0, 0, 0}}), {0, 0, 0}, "Two empty shards");
}

// The engine's own layer on two replicas: with momentum 0 its moving averages are the last batch's.
TEST(Statistics, MergedOnesEqualTheEngine) {
  lockstep::MirroredStrategy strategy({"/gpu:0", "/gpu:1"});
  lockstep::Model model = strategy.scope([] {
    lockstep::Sequential m({lockstep::SyncBatchNormalization().momentum(0), lockstep::Dense(1)});
    m.compile(lockstep::SGD(0.0F), lockstep::MeanSquaredError());
    return m;
  });
  const std::vector<float> values = some(100, 7);
  model.train_on_batch(lockstep::Array({7, 1}, values), lockstep::Array({7, 1}, std::vector<float>(7)));
  const Moments merged = merge({moments(some(100, 4)), moments(some(104, 3))});
  double mean = 0, variance = 0;
  for (const lockstep::NamedArray& weight : model.get_weights()) {
    if (weight.name.find("moving_mean") != std::string::npos) mean = static_cast<double>(weight.values.data<float>()[0]);
    if (weight.name.find("moving_variance") != std::string::npos) variance = static_cast<double>(weight.values.data<float>()[0]);
  }
  EXPECT(std::abs(merged.mean - mean) < 1e-3 && std::abs(merged.variance - variance) < 1e-3)
      << "7 values on two replicas (4 and 3): the engine's SyncBatchNormalization has mean " << number(mean) << " and variance "
      << number(variance) << "; yours: " << words(merged) << ".";
}

TEST(Moving, MovesALittleEachStep) {
  const double once = update_moving(0, 10, 0.9);
  EXPECT(std::abs(once - 1) < 1e-9) << "From 0 towards 10 with momentum 0.9: after one step 1; you say " << number(once)
                                    << (std::abs(once - 9) < 1e-9 ? ". The momentum is the share that stays." : ".");
}

TEST(Moving, StepsUntilAShareIsLearned) {
  for (const auto& [momentum, share, wanted] : {std::tuple{0.9, 0.95, 29}, std::tuple{0.99, 0.95, 299}, std::tuple{0.999, 0.95, 2995},
                                                std::tuple{0.5, 0.6, 2}, std::tuple{0.5, 0.8, 3}}) {
    const int is = steps_until(momentum, share);
    EXPECT(is == wanted) << "Momentum " << number(momentum) << ": 1 - momentum^k is " << number(1 - std::pow(momentum, wanted - 1))
                         << " for k = " << wanted - 1 << " and " << number(1 - std::pow(momentum, wanted)) << " for k = " << wanted
                         << ". So " << number(share) << " is learned after " << wanted << " steps; you say " << is << ".";
  }
}

TEST(Moving, AMomentumThatFitsTheRun) {
  for (const auto& [steps, share] : {std::pair{29, 0.95}, std::pair{200, 0.95}, std::pair{10, 0.5}}) {
    const double momentum = momentum_for(steps, share);
    EXPECT(std::abs(1 - std::pow(momentum, steps) - share) < 1e-6)
        << steps << " steps should learn a share of " << number(share) << ". With your momentum of " << number(momentum) << " they learn "
        << number(1 - std::pow(momentum, steps)) << ".";
  }
}

// Two kinds of samples, far from zero: only a normalised model tells them apart quickly.
std::pair<double, double> train_and_evaluate(float momentum, int steps) {
  lockstep::MirroredStrategy strategy({"/gpu:0", "/gpu:1"});
  lockstep::Model model = strategy.scope([momentum] {
    lockstep::Sequential m({lockstep::BatchNormalization().momentum(momentum), lockstep::Dense(2)});
    m.compile(lockstep::Adam(0.05F), lockstep::SparseCategoricalCrossentropy().from_logits(), {"accuracy"});
    return m;
  });
  model.set_seed(1);
  std::vector<float> x;
  std::vector<std::int32_t> y;
  for (std::int64_t s = 0; s < 32; ++s) {
    y.push_back(static_cast<std::int32_t>(s % 2));
    x.push_back(50.0F + (s % 2 == 0 ? -1.0F : 1.0F) * (1.0F + drawn(s) / 10));
  }
  const lockstep::Array images({32, 1}, x), labels({32}, y);
  double training = 0;
  for (int step = 0; step < steps; ++step) training = model.train_on_batch(images, labels).at("accuracy");
  return {training, model.evaluate(images, labels).at("accuracy")};
}

TEST(ShortRun, EvaluatesAsWellAsItTrains) {
  const auto [fooled_training, fooled] = train_and_evaluate(0.999F, 60);
  EXPECT(fooled_training > 0.95 && fooled < 0.7) << "(The premise: with momentum 0.999 training reaches " << number(fooled_training)
                                                 << " and evaluation of the same samples " << number(fooled) << ".)";
  const double momentum = momentum_for(60, 0.9999);
  const auto [training, evaluated] = train_and_evaluate(static_cast<float>(momentum), 60);
  EXPECT(training > 0.95 && evaluated > 0.95) << "60 steps on two replicas with the momentum that momentum_for(60, 0.9999) gives, "
                                              << number(momentum) << ": accuracy in training " << number(training)
                                              << ", in evaluation of the same samples " << number(evaluated)
                                              << ". With 0.999 evaluation reaches " << number(fooled)
                                              << ": the averages are still at their start.";
}

}  // namespace lesson
