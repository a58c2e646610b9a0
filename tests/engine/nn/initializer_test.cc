// First values: bounds, moments, and that they depend on (seed, variable) alone.
#include "engine/nn/initializer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "lockstep/error.h"

namespace lockstep {
namespace {

struct Moments {
  double mean = 0, deviation = 0, low = 0, high = 0, kurtosis = 0;
};

Moments moments(const std::vector<float>& values) {
  Moments m;
  const auto n = static_cast<double>(values.size());
  for (const float v : values) m.mean += v / n;
  double second = 0, fourth = 0;
  for (const float v : values) second += std::pow(v - m.mean, 2) / n, fourth += std::pow(v - m.mean, 4) / n;
  m.deviation = std::sqrt(second);
  m.kurtosis = fourth / (second * second);
  m.low = *std::min_element(values.begin(), values.end());
  m.high = *std::max_element(values.begin(), values.end());
  return m;
}

Moments draw(const std::string& name, const Shape& shape) { return moments(parse_initializer(name).values(shape, 11, 3)); }

TEST(Initializer, FansAreThoseOfKeras) {
  EXPECT_EQ(compute_fans(Shape{}).in, 1);
  EXPECT_EQ(compute_fans(Shape{7}).in, 7);
  EXPECT_EQ(compute_fans(Shape{7}).out, 7);
  EXPECT_EQ(compute_fans(Shape{5408, 128}).in, 5408);
  EXPECT_EQ(compute_fans(Shape{5408, 128}).out, 128);
  EXPECT_EQ(compute_fans(Shape{3, 3, 1, 32}).in, 9);
  EXPECT_EQ(compute_fans(Shape{3, 3, 1, 32}).out, 288);
}

TEST(Initializer, GlorotUniformFillsItsRange) {
  const double limit = std::sqrt(6.0 / (300 + 200));
  const Moments m = draw("glorot_uniform", Shape{300, 200});
  EXPECT_GE(m.low, -limit);
  EXPECT_LE(m.high, limit);
  EXPECT_LT(m.low, -0.999 * limit);
  EXPECT_GT(m.high, 0.999 * limit);
  EXPECT_NEAR(m.mean, 0, 0.01 * limit);
  EXPECT_NEAR(m.deviation, limit / std::sqrt(3.0), 0.005 * limit);
  EXPECT_NEAR(m.kurtosis, 1.8, 0.02);  // flat, not bell-shaped
}

TEST(Initializer, HeUniformUsesFanInAlone) {
  const double limit = std::sqrt(6.0 / 300);
  const Moments m = draw("he_uniform", Shape{300, 200});
  EXPECT_GE(m.low, -limit);
  EXPECT_LT(m.low, -0.999 * limit);
}

TEST(Initializer, NormalOnesAreCutAtTwoDeviationsAndKeepTheirDeviation) {
  for (const auto& [name, deviation] : {std::pair{"he_normal", std::sqrt(2.0 / 300)}, std::pair{"glorot_normal", std::sqrt(2.0 / 500)}}) {
    const Moments m = draw(name, Shape{300, 200});
    const double cut = 2 * deviation / 0.87962566103423978;
    EXPECT_GE(m.low, -cut * 1.000001) << name;
    EXPECT_LE(m.high, cut * 1.000001) << name;
    EXPECT_GT(m.high, 0.99 * cut) << name;
    EXPECT_NEAR(m.deviation, deviation, 0.01 * deviation) << name;
    EXPECT_NEAR(m.mean, 0, 0.02 * deviation) << name;
  }
}

TEST(Initializer, RandomNormalIsNotCut) {
  const Moments m = draw("random_normal", Shape{300, 200});
  EXPECT_NEAR(m.deviation, 0.05, 0.0005);
  EXPECT_GT(m.high, 3.5 * 0.05);
  EXPECT_NEAR(m.kurtosis, 3, 0.1);
}

TEST(Initializer, ConstantsAreConstant) {
  EXPECT_EQ(parse_initializer("zeros").values(Shape{3}, 1, 1), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(parse_initializer("ones").values(Shape{3}, 1, 1), (std::vector<float>{1, 1, 1}));
  EXPECT_EQ((Initializer{Initializer::Kind::constant, 2.5F}.values(Shape{2}, 1, 1)), (std::vector<float>{2.5F, 2.5F}));
}

TEST(Initializer, SeedAndVariableDecideAndNothingElse) {
  for (const char* name : {"glorot_uniform", "he_normal"}) {
    const Initializer initializer = parse_initializer(name);
    const Shape shape{17, 13};
    EXPECT_EQ(initializer.values(shape, 1, 2), initializer.values(shape, 1, 2));
    EXPECT_NE(initializer.values(shape, 1, 2), initializer.values(shape, 1, 3));
    EXPECT_NE(initializer.values(shape, 1, 2), initializer.values(shape, 2, 2));
    EXPECT_NE(initializer.values(shape, 1, 2), initializer.values(shape, 1 + (std::uint64_t{1} << 32), 2));
  }
}

TEST(Initializer, UnknownNameListsTheKnown) {
  try {
    parse_initializer("glorot");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("\"glorot\""), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("glorot_uniform"), std::string::npos);
  }
}

}  // namespace
}  // namespace lockstep
