// Every kernel against plain nested loops, over random shapes and grids of every kind.
#include "tests/engine/kernels/support/kernel_case.h"

namespace lockstep::testing {

namespace {

class Kernel : public ::testing::TestWithParam<KernelCase> {};

TEST_P(Kernel, EqualsPlainLoopsOnAnyGrid) {
  const Stream stream(0);
  for (unsigned seed = 1; seed <= 12; ++seed) {
    Random random(seed);
    KernelInstance instance;
    GetParam().make(random, instance);
    for (const Grid grid : {Grid{1, 1}, Grid{7, 33}, Grid{64, 128}}) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", shape " + instance.shape + ", grid " + std::to_string(grid.blocks) + " x " +
                   std::to_string(grid.threads));
      instance.run(stream, grid);
      instance.check();
      if (HasFatalFailure() || HasNonfatalFailure()) return;
    }
  }
}

TEST_P(Kernel, GivesTheSameBitsOnEveryGrid) {
  const Stream stream(0);
  Random random(99);
  KernelInstance instance;
  GetParam().make(random, instance);
  instance.run(stream, {1, 1});
  const auto expected = instance.written();
  for (const Grid grid : {Grid{1, 32}, Grid{3, 1}, Grid{5, 77}, Grid{200, 64}}) {
    instance.run(stream, grid);
    EXPECT_EQ(instance.written(), expected) << instance.shape << " on a grid of " << grid.blocks << " x " << grid.threads;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Kernel, ::testing::ValuesIn(kernel_cases()), [](const auto& tested) { return tested.param.kernel; });

}  // namespace

}  // namespace lockstep::testing
