// Matrix products of every orientation against three loops.
#include "engine/ops/matmul.h"

#include "tests/engine/kernels/support/kernel_case.h"
#include "tests/engine/ops/support/op_fixture.h"

namespace lockstep::testing {

namespace {

class MatmulTest : public OpTest {};

TEST_F(MatmulTest, EqualsThreeLoopsInAllOrientationsWithAllEpilogues) {
  Random random(1);
  for (int round = 0; round < 60; ++round) {
    ops::Matmul::Spec spec;
    spec.m = between(random, 1, 70);
    spec.n = between(random, 1, 70);
    spec.k = between(random, 1, 70);
    spec.transpose_a = between(random, 0, 1) != 0;
    spec.transpose_b = between(random, 0, 1) != 0;
    spec.bias = between(random, 0, 2) != 0;
    spec.relu = spec.bias && between(random, 0, 1) != 0;
    SCOPED_TRACE(std::to_string(spec.m) + " x " + std::to_string(spec.k) + " x " + std::to_string(spec.n) + " round " +
                 std::to_string(round));
    const auto a = normal(random, spec.m * spec.k);
    const auto b = normal(random, spec.k * spec.n);
    const auto bias = normal(random, spec.n);
    std::vector<double> expected;
    for (std::int64_t i = 0; i < spec.m; ++i) {
      for (std::int64_t j = 0; j < spec.n; ++j) {
        double sum = spec.bias ? bias[static_cast<std::size_t>(j)] : 0;
        for (std::int64_t l = 0; l < spec.k; ++l) {
          sum += static_cast<double>(a[static_cast<std::size_t>(spec.transpose_a ? l * spec.m + i : i * spec.k + l)]) *
                 b[static_cast<std::size_t>(spec.transpose_b ? j * spec.k + l : l * spec.n + j)];
        }
        expected.push_back(spec.relu ? std::max(sum, 0.0) : sum);
      }
    }
    const Tensor c = empty(Shape{spec.m, spec.n});
    const Tensor bias_tensor = spec.bias ? tensor(Shape{spec.n}, bias) : Tensor();
    const ops::Matmul matmul(gpu(), spec);
    matmul.run(context(matmul.scratch_bytes()), tensor(Shape{spec.transpose_a ? spec.k : spec.m, spec.transpose_a ? spec.m : spec.k}, a),
               tensor(Shape{spec.transpose_b ? spec.n : spec.k, spec.transpose_b ? spec.k : spec.n}, b), bias_tensor, c);
    expect_close(read(c), expected, 1e-5);
    if (HasFatalFailure()) return;
  }
}

TEST_F(MatmulTest, RefusesTensorsOfAnotherSize) {
  const ops::Matmul matmul(gpu(), {.m = 2, .n = 3, .k = 4});
  const Tensor a = empty(Shape{2, 4});
  const Tensor b = empty(Shape{4, 3});
  EXPECT_THROW(matmul.run(context(matmul.scratch_bytes()), a, b, {}, empty(Shape{2, 4})), Error);
  EXPECT_THROW(matmul.run(context(matmul.scratch_bytes()), b, b, {}, empty(Shape{2, 3})), Error);
}

TEST_F(MatmulTest, AnEmptyBatchIsNoWork) {
  const ops::Matmul matmul(gpu(), {.m = 0, .n = 3, .k = 4});
  const Tensor b = empty(Shape{4, 3});
  EXPECT_NO_THROW(matmul.run(context(), Tensor(b.raw(), Shape{0, 4}), b, {}, Tensor(b.raw(), Shape{0, 3})));
}

}  // namespace

}  // namespace lockstep::testing
