// The digits this program draws when there are no others.
#include "engine/data/drawn_digits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string>

#include "common/sha256.h"
#include "tests/engine/data/support/tiny_files.h"

namespace lockstep {
namespace {

constexpr std::int64_t kPixels = 28 * 28;

TEST(DrawnDigits, AreTheSameForTheSameSeedAndForNoOther) {
  const DrawnDigits some = draw_digits(50, 7), more = draw_digits(80, 7), others = draw_digits(50, 8);
  EXPECT_TRUE(std::equal(some.images.data<float>(), some.images.data<float>() + 50 * kPixels, more.images.data<float>()));
  EXPECT_TRUE(std::equal(some.labels.data<std::int32_t>(), some.labels.data<std::int32_t>() + 50, more.labels.data<std::int32_t>()));
  EXPECT_FALSE(std::equal(some.images.data<float>(), some.images.data<float>() + 50 * kPixels, others.images.data<float>()));
}

TEST(DrawnDigits, AreGreyImagesCentredByMassLikeMnists) {
  const DrawnDigits digits = draw_digits(2000, 1);
  ASSERT_EQ(digits.images.shape(), Shape({2000, 28, 28, 1}));
  ASSERT_EQ(digits.labels.shape(), Shape({2000}));
  double all = 0;
  for (std::int64_t i = 0; i < 2000; ++i) {
    const float* image = digits.images.data<float>() + i * kPixels;
    double mass = 0, x = 0, y = 0;
    for (std::int64_t p = 0; p < kPixels; ++p) {
      ASSERT_EQ(image[p], std::round(image[p] * 255.0F) / 255.0F);
      mass += image[p];
      x += image[p] * static_cast<double>(p % 28);
      y += image[p] * static_cast<double>(p / 28);
    }
    ASSERT_GT(mass, 15) << "image " << i << " has next to no ink";
    EXPECT_NEAR(x / mass, 13.5, 1.5);
    EXPECT_NEAR(y / mass, 13.5, 1.5);
    for (std::int64_t edge = 0; edge < 28; ++edge) {
      EXPECT_EQ(image[edge] + image[27 * 28 + edge] + image[28 * edge] + image[28 * edge + 27], 0)
          << "image " << i << " touches the border";
    }
    all += mass;
  }
  EXPECT_NEAR(all / 2000 / kPixels, 0.13, 0.03) << "as much ink as MNIST has";
}

TEST(DrawnDigits, AreAllTenInEqualNumbersAndAllDifferent) {
  const DrawnDigits digits = draw_digits(3000, 4);
  std::array<int, 10> counts{};
  std::set<std::string> seen;
  for (std::int64_t i = 0; i < 3000; ++i) {
    ++counts.at(static_cast<std::size_t>(digits.labels.data<std::int32_t>()[i]));
    Sha256 sha;
    sha.update(digits.images.data<float>() + i * kPixels, kPixels * sizeof(float));
    seen.insert(sha.hex());
  }
  for (const int count : counts) EXPECT_NEAR(count, 300, 70);
  EXPECT_EQ(seen.size(), 3000U);
}

// The nearest of 3,000 others has the right label for most digits, as with MNIST (about 92 % with so few): they can be learnt, and are more
// than a dozen fixed pictures.
TEST(DrawnDigits, AreRecognisedByTheirNeighbours) {
  const DrawnDigits known = draw_digits(3000, 1), asked = draw_digits(200, 2);
  int right = 0;
  for (std::int64_t i = 0; i < 200; ++i) {
    const float* image = asked.images.data<float>() + i * kPixels;
    float best = 1e30F;
    std::int32_t label = -1;
    for (std::int64_t j = 0; j < 3000; ++j) {
      const float* other = known.images.data<float>() + j * kPixels;
      float distance = 0;
      for (std::int64_t p = 0; p < kPixels; ++p) distance += (image[p] - other[p]) * (image[p] - other[p]);
      if (distance < best) {
        best = distance;
        label = known.labels.data<std::int32_t>()[j];
      }
    }
    right += label == asked.labels.data<std::int32_t>()[i];
  }
  EXPECT_GT(right, 180);
}

TEST(DrawnDigits, RefuseToBeNone) {
  EXPECT_NE(error_of([] { draw_digits(0, 1); }), "");
}

}  // namespace
}  // namespace lockstep
