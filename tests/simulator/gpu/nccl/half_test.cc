// Sixteen-bit floating-point values: every one of them survives, and rounding is to nearest, ties to even.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "simulator/gpu/runtime/float16.h"

namespace lockstep::test {
namespace {

using sim::Bfloat16;
using sim::Float16;

template <typename T>
void expect_all_survive() {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const T half{static_cast<std::uint16_t>(bits)};
    const auto value = static_cast<float>(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(T::from(value))));
    } else {
      ASSERT_EQ(T::from(value).bits, bits);
    }
  }
}

TEST(Float16, EveryValueSurvives) { expect_all_survive<Float16>(); }
TEST(Bfloat16, EveryValueSurvives) { expect_all_survive<Bfloat16>(); }

TEST(Float16, HasTheValuesOfItsDefinition) {
  EXPECT_EQ(static_cast<float>(Float16{0x3c00}), 1.0F);
  EXPECT_EQ(static_cast<float>(Float16{0xc000}), -2.0F);
  EXPECT_EQ(static_cast<float>(Float16{0x7bff}), 65504.0F);
  EXPECT_EQ(static_cast<float>(Float16{0x0001}), std::ldexp(1.0F, -24));
  EXPECT_EQ(static_cast<float>(Float16{0x0400}), std::ldexp(1.0F, -14));
  EXPECT_TRUE(std::isinf(static_cast<float>(Float16{0x7c00})));
}

// The nearest of the two neighbours, found by looking at both.
template <typename T>
void expect_nearest(float low, float high) {
  std::mt19937 engine(3);
  std::uniform_real_distribution<float> exponent(low, high);
  for (int i = 0; i < 200000; ++i) {
    float value = std::exp2(exponent(engine));
    if (i % 3 == 0) {  // a tie, or next to one
      const T here = T::from(value);
      const float above = static_cast<float>(T{static_cast<std::uint16_t>(here.bits + 1)});
      value = (static_cast<float>(here) + above) / 2;
      if (i % 2 == 0) value = std::nextafter(value, i % 4 == 0 ? 0.0F : INFINITY);
    }
    const T rounded = T::from(value);
    const double error = std::abs(static_cast<double>(static_cast<float>(rounded)) - value);
    for (const int step : {-1, 1}) {
      const T neighbour{static_cast<std::uint16_t>(rounded.bits + step)};
      const double other = std::abs(static_cast<double>(static_cast<float>(neighbour)) - value);
      ASSERT_LE(error, other) << value;
      if (error == other) {
        ASSERT_EQ(rounded.bits % 2, 0) << "tie at " << value;
      }
    }
  }
}

TEST(Float16, RoundsToNearestEven) { expect_nearest<Float16>(-23.0F, 15.9F); }
TEST(Bfloat16, RoundsToNearestEven) { expect_nearest<Bfloat16>(-120.0F, 126.0F); }

TEST(Float16, OverflowsToInfinity) {
  EXPECT_EQ(Float16::from(65520.0F).bits, 0x7c00);
  EXPECT_EQ(Float16::from(65519.0F).bits, 0x7bff);
  EXPECT_EQ(Float16::from(-1e30F).bits, 0xfc00);
}

}  // namespace
}  // namespace lockstep::test
