// Products with few rows or of little depth: right for every shape, cut and address, and with the same bits for all of the latter.
#include "simulator/gpu/blas/skinny_product.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>

#include "tests/simulator/gpu/support/device.h"

namespace lockstep::test {
namespace {

using sim::blas::Instructions;
using sim::blas::Product;
using sim::blas::SkinnyBlock;

enum class Kind { forward, input_gradient, weight_gradient };
constexpr Kind kKinds[] = {Kind::forward, Kind::input_gradient, Kind::weight_gradient};

bool capable() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

bool wide() { return capable() && __builtin_cpu_supports("avx512f"); }
Instructions widest() { return wide() ? Instructions::avx512 : capable() ? Instructions::avx2 : Instructions::none; }
// Those that this processor has, in turns.
Instructions instructions(int turn) { return wide() && turn % 2 == 1 ? Instructions::avx512 : Instructions::avx2; }

Product product_of(Kind kind, std::int64_t rows, std::int64_t cols, std::int64_t depth) {
  Product product;
  product.rows = rows, product.cols = cols, product.depth = depth;
  product.left_transposed = kind == Kind::weight_gradient;
  product.right_transposed = kind == Kind::input_gradient;
  product.left_ld = product.left_transposed ? rows : depth;
  product.right_ld = product.right_transposed ? depth : cols;
  product.out_ld = product.c_row_stride = cols;
  product.c_col_stride = 1;
  return product;
}

// Few of what there are few of, with all tails; many of the rest now and then, past the blocks of the depth.
Product random_product(Random& random, Kind kind) {
  const std::int64_t few = random.integer(1, random.chance(30) ? 140 : 20), more = random.integer(1, random.chance(30) ? 900 : 60),
                     others = random.integer(1, random.chance(30) ? 150 : 50);
  return kind == Kind::forward          ? product_of(kind, few, others, more)
         : kind == Kind::input_gradient ? product_of(kind, few, more, others)
                                        : product_of(kind, more, others, few);
}

// A matrix with gaps between its rows, and before its first, that are not numbers. Now and then every row starts a line of the cache.
struct Matrix {
  struct alignas(64) Line {
    float of[16];
  };
  std::int64_t rows, cols, ld, offset;
  std::vector<Line> lines;

  Matrix(Random& random, std::int64_t rows_, std::int64_t cols_) : rows(rows_), cols(cols_), ld(cols), offset(0) {
    if (random.chance(30)) {
      ld = (cols + 15) / 16 * 16;
    } else {
      ld += random.chance(50) ? 0 : random.integer(1, 19);
      offset = random.integer(0, 17);
    }
    lines.resize(static_cast<std::size_t>((offset + rows * ld) / 16 + 1));
    std::fill_n(storage(), elements(), std::numeric_limits<float>::quiet_NaN());
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < cols; ++j) at(i, j) = random.real();
  }
  std::size_t elements() const { return lines.size() * 16; }
  float* storage() { return lines[0].of; }
  const float* storage() const { return lines[0].of; }
  float* data() { return storage() + offset; }
  const float* data() const { return storage() + offset; }
  float& at(std::int64_t i, std::int64_t j) { return data()[i * ld + j]; }
  float at(std::int64_t i, std::int64_t j) const { return data()[i * ld + j]; }
};

struct Case {
  Product product;
  Matrix left, right, out;
  bool add;

  Case(Random& random, const Product& of)
      : product(of),
        left(random, of.left_transposed ? of.depth : of.rows, of.left_transposed ? of.rows : of.depth),
        right(random, of.right_transposed ? of.cols : of.depth, of.right_transposed ? of.depth : of.cols),
        out(random, of.rows, of.cols),
        add(random.chance(40)) {
    product.left_ld = left.ld, product.right_ld = right.ld, product.out_ld = out.ld;
    product.c_row_stride = out.ld;
  }
  float l(std::int64_t i, std::int64_t d) const { return product.left_transposed ? left.at(d, i) : left.at(i, d); }
  float r(std::int64_t d, std::int64_t j) const { return product.right_transposed ? right.at(j, d) : right.at(d, j); }

  // Rows from `i` and columns from `j`.
  SkinnyBlock block(std::int64_t i, std::int64_t j, std::int64_t rows, std::int64_t cols, Matrix& to) const {
    return {rows,
            cols,
            left.data() + (product.left_transposed ? i : i * left.ld),
            left.ld,
            right.data() + (product.right_transposed ? j * right.ld : j),
            right.ld,
            to.data() + i * to.ld + j,
            to.ld,
            add};
  }
  std::string text() const {
    std::ostringstream text;
    text << product.rows << " x " << product.depth << " times " << product.depth << " x " << product.cols
         << (product.left_transposed    ? " left transposed"
             : product.right_transposed ? " right transposed"
                                        : "")
         << " lds " << left.ld << ' ' << right.ld << ' ' << out.ld << " offsets " << left.offset << ' ' << right.offset << ' ' << out.offset
         << (add ? " add" : "");
    return text.str();
  }
};

// What is not an element of the product must be as it was.
void expect_gaps(const Case& c, const Matrix& got) {
  for (std::size_t e = 0; e < got.elements(); ++e) {
    const std::int64_t at = static_cast<std::int64_t>(e) - got.offset;
    if (at >= 0 && at / got.ld < got.rows && at % got.ld < got.cols) continue;
    ASSERT_EQ(std::memcmp(got.storage() + e, c.out.storage() + e, sizeof(float)), 0) << c.text() << ": wrote into a gap at " << at;
  }
}

TEST(SkinnyProduct, EqualsDoublePrecisionForAllTailsGapsAndAddresses) {
  if (!capable()) GTEST_SKIP() << "needs AVX2";
  Random random(70);
  for (int n = 0; n < 600; ++n) {
    const Case c(random, random_product(random, kKinds[n % 3]));
    const Instructions with = instructions(n / 3);
    Matrix got = c.out;
    compute_skinny(c.product, c.block(0, 0, c.product.rows, c.product.cols, got), with);
    for (std::int64_t i = 0; i < c.product.rows; ++i) {
      for (std::int64_t j = 0; j < c.product.cols; ++j) {
        double sum = c.add ? c.out.at(i, j) : 0.0F, magnitude = std::abs(sum);
        for (std::int64_t d = 0; d < c.product.depth; ++d) {
          const double term = static_cast<double>(c.l(i, d)) * c.r(d, j);
          sum += term;
          magnitude += std::abs(term);
        }
        const double bound = static_cast<double>(c.product.depth + 3) * std::numeric_limits<float>::epsilon() * magnitude + 1e-30;
        ASSERT_NEAR(got.at(i, j), sum, bound) << c.text() << " at " << i << ", " << j;
      }
    }
    expect_gaps(c, got);
    if (HasFatalFailure()) return;
  }
}

TEST(SkinnyProduct, HasTheSameBitsHoweverItIsCutAndWhereverItLies) {
  if (!capable()) GTEST_SKIP() << "needs AVX2";
  Random random(71);
  for (int n = 0; n < 400; ++n) {
    Case c(random, random_product(random, kKinds[n % 3]));
    const std::int64_t rows = c.product.rows, cols = c.product.cols;
    const Instructions with = instructions(n / 3);
    Matrix whole = c.out;
    compute_skinny(c.product, c.block(0, 0, rows, cols, whole), with);

    Matrix parts(random, rows, cols);
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < cols; ++j) parts.at(i, j) = c.out.at(i, j);
    const std::int64_t i = random.integer(0, rows), j = random.integer(0, cols);
    compute_skinny(c.product, c.block(0, 0, i, j, parts), with);
    compute_skinny(c.product, c.block(0, j, i, cols - j, parts), with);
    compute_skinny(c.product, c.block(i, 0, rows - i, j, parts), with);
    compute_skinny(c.product, c.block(i, j, rows - i, cols - j, parts), with);
    for (std::int64_t row = 0; row < rows; ++row) {
      ASSERT_EQ(std::memcmp(&whole.at(row, 0), &parts.at(row, 0), static_cast<std::size_t>(cols) * sizeof(float)), 0)
          << c.text() << " cut at " << i << ", " << j << ", row " << row;
    }
  }
}

TEST(SkinnyProduct, AddsTheBitsOfAGradientThatIsComputedApart) {
  if (!capable()) GTEST_SKIP() << "needs AVX2";
  Random random(74);
  for (int n = 0; n < 300; ++n) {
    const Kind kind = n % 3 == 0 ? Kind::input_gradient : Kind::weight_gradient;
    Case c(random, random_product(random, kind));
    const Instructions with = instructions(n / 3);
    const std::int64_t rows = c.product.rows, cols = c.product.cols;
    Matrix apart = c.out, added = c.out;
    c.add = false;
    compute_skinny(c.product, c.block(0, 0, rows, cols, apart), with);
    c.add = true;
    compute_skinny(c.product, c.block(0, 0, rows, cols, added), with);
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < cols; ++j) {
        const float sum = c.out.at(i, j) + apart.at(i, j);
        ASSERT_EQ(std::memcmp(&added.at(i, j), &sum, sizeof sum), 0) << c.text() << " at " << i << ", " << j;
      }
    }
  }
}

TEST(SkinnyProduct, GradientsHaveTheSameBitsWithEitherInstructions) {
  if (!wide()) GTEST_SKIP() << "needs AVX-512";
  Random random(75);
  for (int n = 0; n < 200; ++n) {
    const Case c(random, random_product(random, n % 2 == 0 ? Kind::input_gradient : Kind::weight_gradient));
    Matrix narrow = c.out, wide = c.out;
    compute_skinny(c.product, c.block(0, 0, c.product.rows, c.product.cols, narrow), Instructions::avx2);
    compute_skinny(c.product, c.block(0, 0, c.product.rows, c.product.cols, wide), Instructions::avx512);
    ASSERT_EQ(std::memcmp(narrow.storage(), wide.storage(), narrow.elements() * sizeof(float)), 0) << c.text();
  }
}

// Shapes for which the library chooses it, the whole way from the library's side.
TEST(SkinnyProduct, HasTheSameBitsForEveryNumberOfParts) {
  if (!capable()) GTEST_SKIP() << "needs AVX2";
  Random random(72);
  for (int n = 0; n < 24; ++n) {
    const Kind kind = kKinds[n % 3];
    const std::int64_t batch = random.integer(2, wide() ? 128 : 32), in = random.integer(4200, 5500),
                       out = kind == Kind::input_gradient || (kind == Kind::forward && batch <= 32) ? random.integer(64, 128) : 64;
    Case c(random, kind == Kind::forward          ? product_of(kind, batch, out, in)
                   : kind == Kind::input_gradient ? product_of(kind, batch, in, out)
                                                  : product_of(kind, in, out, batch));
    const sim::blas::Scalars scalars{1, c.add ? 1.0F : 0.0F};
    c.product.relu = random.chance(30);
    ASSERT_TRUE(is_skinny(c.product, scalars)) << c.text();
    Matrix whole = c.out;
    compute(c.product, scalars, c.left.data(), c.right.data(), whole.data(), nullptr, whole.data(), 0, 1);
    for (const int parts : {2, 3, 7}) {
      Matrix got = c.out;
      for (int part = parts - 1; part >= 0; --part)
        compute(c.product, scalars, c.left.data(), c.right.data(), got.data(), nullptr, got.data(), part, parts);
      ASSERT_EQ(std::memcmp(got.storage(), whole.storage(), got.elements() * sizeof(float)), 0) << c.text() << ' ' << parts;
    }
  }
}

TEST(SkinnyProduct, PropagatesWhatIsNotANumber) {
  if (!capable()) GTEST_SKIP() << "needs AVX2";
  Random random(73);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  int unusual = 0;
  for (int n = 0; n < 300; ++n) {
    Case c(random, random_product(random, kKinds[n % 3]));
    for (Matrix* matrix : {&c.left, &c.right}) {
      for (int k = 0; k < 4; ++k) {
        constexpr float kUnusual[] = {0.0F, kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN()};
        matrix->at(random.integer(0, matrix->rows - 1), random.integer(0, matrix->cols - 1)) = kUnusual[random.integer(0, 3)];
      }
    }
    // Zeros that meet what is infinite.
    if (random.chance(50)) {
      Matrix& zero = random.chance(50) ? c.left : c.right;
      for (std::int64_t i = 0; i < zero.rows; ++i)
        for (std::int64_t j = 0; j < zero.cols; ++j) zero.at(i, j) = 0;
    }
    Matrix got = c.out;
    compute_skinny(c.product, c.block(0, 0, c.product.rows, c.product.cols, got), instructions(n / 3));
    for (std::int64_t i = 0; i < c.product.rows; ++i) {
      for (std::int64_t j = 0; j < c.product.cols; ++j) {
        double sum = c.add ? c.out.at(i, j) : 0.0F;
        for (std::int64_t d = 0; d < c.product.depth; ++d) sum += static_cast<double>(c.l(i, d)) * c.r(d, j);
        const float element = got.at(i, j);
        ASSERT_EQ(std::isnan(element), std::isnan(sum)) << c.text() << " at " << i << ", " << j;
        ASSERT_EQ(std::isinf(element), std::isinf(sum)) << c.text() << " at " << i << ", " << j;
        ASSERT_EQ(std::isinf(element) && element > 0, std::isinf(sum) && sum > 0) << c.text() << " at " << i << ", " << j;
        unusual += std::isfinite(sum) ? 0 : 1;
      }
    }
  }
  EXPECT_GT(unusual, 1000);
}

TEST(SkinnyProduct, IsChosenForADenseLayerOnManyGpusAndByTheWholeShape) {
  const auto chosen = [](Instructions with, Kind kind, std::int64_t rows, std::int64_t cols, std::int64_t depth, float alpha = 1,
                         float beta = 0) {
    return is_skinny(product_of(kind, rows, cols, depth), {alpha, beta}, with);
  };
  for (const Instructions with : {Instructions::none, Instructions::avx2, Instructions::avx512}) {
    const bool any = with != Instructions::none, most = with == Instructions::avx512;
    for (const std::int64_t batch : {4, 16, 32}) {
      EXPECT_EQ(chosen(with, Kind::forward, batch, 128, 5408), any);
      EXPECT_EQ(chosen(with, Kind::input_gradient, batch, 5408, 128), any);
      EXPECT_EQ(chosen(with, Kind::weight_gradient, 5408, 128, batch), any);
    }
    EXPECT_EQ(chosen(with, Kind::input_gradient, 64, 5408, 128), any);
    EXPECT_EQ(chosen(with, Kind::weight_gradient, 5408, 128, 64), any);
    EXPECT_EQ(chosen(with, Kind::weight_gradient, 5408, 128, 64, 1, 1), any);
    EXPECT_EQ(chosen(with, Kind::forward, 4, 46, 2368, 1, 1), any);
    for (const std::int64_t batch : {65, 128, 129}) {
      EXPECT_EQ(chosen(with, Kind::forward, batch, 128, 5408), most && batch <= 128);
      EXPECT_EQ(chosen(with, Kind::input_gradient, batch, 5408, 128), most && batch <= 128);
      EXPECT_EQ(chosen(with, Kind::weight_gradient, 5408, 128, batch), most && batch <= 128);
    }
    EXPECT_FALSE(chosen(with, Kind::forward, 64, 46, 2368));
    EXPECT_FALSE(chosen(with, Kind::forward, 64, 128, 128));
    EXPECT_FALSE(chosen(with, Kind::forward, 16, 128, 5408, 2));
    EXPECT_FALSE(chosen(with, Kind::forward, 16, 128, 5408, 1, 0.5F));
    Product both = product_of(Kind::input_gradient, 16, 5408, 128);
    both.left_transposed = true;
    EXPECT_FALSE(is_skinny(both, {1, 0}, with));
  }
  EXPECT_EQ(sim::blas::widest_instructions(), widest());
}

}  // namespace
}  // namespace lockstep::test
