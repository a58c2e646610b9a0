// The virtual cuDNN computes every convolution it plans.
#include "simulator/gpu/runtime/control.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>

#include "tests/simulator/gpu/cudnn/support/convolution.h"

namespace lockstep::test {
namespace {

class Convolutions : public testing::TestWithParam<Direction> {};

TEST_P(Convolutions, EqualAPlainLoopForAnyShape) {
  const DnnHandle handle;
  Random random(30U + static_cast<std::uint32_t>(GetParam()));
  for (int i = 0; i < 220; ++i) {
    const ConvolutionCase c = random_convolution(random, GetParam());
    const ConvolutionData data = random_data(c, random);
    expect_convolution(c, data, run_convolution(handle, c, data));
    if (HasFatalFailure()) return;
  }
}

TEST_P(Convolutions, InHalfPrecisionEqualAPlainLoopRoundedOnce) {
  const DnnHandle handle;
  Random random(90U + static_cast<std::uint32_t>(GetParam()));
  for (int i = 0; i < 120; ++i) {
    ConvolutionCase c = random_convolution(random, GetParam());
    c.type = Narrow::f16;
    const ConvolutionData data = random_data(c, random);
    expect_convolution(c, data, run_convolution(handle, c, data));
    if (HasFatalFailure()) return;
  }
}

// Whole numbers whose sums are exact in float, but not in half precision: the result is the exact sum to nearest even, or infinity.
TEST_P(Convolutions, InHalfPrecisionAccumulateInFloatAndRoundToNearestEven) {
  const DnnHandle handle;
  Random random(95);
  int inexact = 0;
  for (int i = 0; i < 20; ++i) {
    ConvolutionCase c = random_convolution(random, GetParam());
    c.type = Narrow::f16;
    c.alpha = 1, c.beta = 0;
    ConvolutionData data = random_data(c, random);
    for (std::vector<float>* values : {&data.x, &data.w, &data.y}) {
      for (float& value : *values) value = static_cast<float>(random.integer(-60, 60));
    }
    ConvolutionCase wide = c;
    wide.type = Narrow::f32;
    const std::vector<float> exact = run_convolution(handle, wide, data), got = run_convolution(handle, c, data);
    for (std::size_t e = 0; e < got.size(); ++e) {
      ASSERT_EQ(got[e], rounded(exact[e], Narrow::f16)) << c.text() << " at " << e << ", exactly " << exact[e];
      inexact += got[e] != exact[e] ? 1 : 0;
    }
  }
  EXPECT_GT(inexact, 100);
}

// 1 x 1 convolutions with large filters are computed as matrix products.
TEST_P(Convolutions, OfOneByOneFiltersEqualAPlainLoop) {
  const DnnHandle handle;
  Random random(97);
  for (int i = 0; i < 24; ++i) {
    ConvolutionCase c;
    c.direction = GetParam();
    c.n = random.integer(1, 4), c.h = random.integer(1, 5), c.w = random.integer(1, 5);
    c.c = random.chance(50) ? random.integer(60, 300) : random.integer(5, 40);
    c.k = random.chance(50) ? random.integer(60, 300) : random.integer(200, 420);
    c.channels_first_filter = random.chance(30);
    if (random.chance(30)) c.alpha = random.real();
    if (random.chance(30)) c.beta = random.real();
    const ConvolutionData data = random_data(c, random);
    expect_convolution(c, data, run_convolution(handle, c, data));
    if (HasFatalFailure()) return;
  }
}

// Those of few channels have a product of their own, whose tiles are 4 x 24 or 6 x 16: with and without rows and channels left over.
TEST_P(Convolutions, OfSmallOneByOneFiltersEqualAPlainLoop) {
  const DnnHandle handle;
  Random random(98);
  for (int i = 0; i < 24; ++i) {
    ConvolutionCase c;
    c.direction = GetParam();
    c.n = random.integer(1, 4), c.h = random.integer(1, 9), c.w = random.integer(1, 9);
    const std::int64_t tiles = (random.chance(50) ? 24 : 16) * random.integer(1, 3), any = random.integer(6, 50);
    c.c = c.direction == Direction::forward ? any : tiles;
    c.k = c.direction == Direction::forward ? tiles : any;
    if (random.chance(30)) c.alpha = random.real();
    if (random.chance(30)) c.beta = random.real();
    const ConvolutionData data = random_data(c, random);
    expect_convolution(c, data, run_convolution(handle, c, data));
    if (HasFatalFailure()) return;
  }
}

TEST_P(Convolutions, EqualAPlainLoopForTheShapesOfMnist) {
  const DnnHandle handle;
  Random random(40);
  for (const std::int64_t batch : {1, 7, 32}) {
    ConvolutionCase c;
    c.direction = GetParam();
    c.n = batch, c.h = c.w = 28, c.c = 1, c.k = 32, c.r = c.s = 3;
    const ConvolutionData data = random_data(c, random);
    expect_convolution(c, data, run_convolution(handle, c, data));
    c.h = c.w = 13, c.c = 32, c.k = 64;
    const ConvolutionData second = random_data(c, random);
    expect_convolution(c, second, run_convolution(handle, c, second));
    if (HasFatalFailure()) return;
  }
}

TEST_P(Convolutions, GiveTheSameBitsEveryTimeAndUnderEverySchedule) {
  const DnnHandle handle;
  Random random(50);
  for (int i = 0; i < 6; ++i) {
    ConvolutionCase c = random_convolution(random, GetParam());
    c.n = 37;
    c.h += 16;
    c.w += 16;
    const ConvolutionData data = random_data(c, random);
    const std::vector<float> first = run_convolution(handle, c, data);
    for (const std::uint64_t seed : {0, 1, 2, 77}) {
      sim::set_schedule_seed(seed);
      const std::vector<float> again = run_convolution(handle, c, data);
      sim::set_schedule_seed(0);
      ASSERT_EQ(std::memcmp(first.data(), again.data(), first.size() * sizeof(float)), 0) << c.text() << " seed " << seed;
    }
  }
}

std::string name_of(const testing::TestParamInfo<Direction>& tested) {
  const char* names[] = {"Forward", "BackwardData", "BackwardFilter"};
  return names[static_cast<int>(tested.param)];
}
INSTANTIATE_TEST_SUITE_P(Every, Convolutions, testing::Values(Direction::forward, Direction::backward_data, Direction::backward_filter),
                         name_of);

ConvolutionCase random_fused(Random& random) {
  ConvolutionCase c = random_convolution(random, Direction::forward);
  c.alpha = 1, c.beta = 0;
  c.bias = true;
  c.addend = random.chance(40);
  c.relu = random.chance(70);
  if (c.relu && random.chance(40)) c.upper_clip = random.chance(50) ? 6.0F : 0.3F;
  return c;
}

TEST(FusedConvolution, EqualsAPlainLoopInSingleAndHalfPrecision) {
  const DnnHandle handle;
  Random random(120);
  for (int i = 0; i < 160; ++i) {
    ConvolutionCase c = random_fused(random);
    if (random.chance(40)) c.type = Narrow::f16;
    const ConvolutionData data = random_data(c, random);
    expect_convolution(c, data, run_convolution(handle, c, data));
    if (HasFatalFailure()) return;
  }
}

// What is fused is computed in the same order and precision as one by one, so an engine may fuse or not.
TEST(FusedConvolution, GivesTheBitsOfTheStepsOneByOne) {
  const DnnHandle handle;
  Random random(121);
  for (int i = 0; i < 30; ++i) {
    const ConvolutionCase c = random_fused(random);
    const ConvolutionData data = random_data(c, random);
    ConvolutionCase plain = c;
    plain.addend = plain.bias = plain.relu = false;
    std::vector<float> expected = run_convolution(handle, plain, data);
    const std::vector<float> got = run_convolution(handle, c, data);
    for (std::size_t e = 0; e < expected.size(); ++e) {
      if (c.addend) expected[e] += data.addend[e];
      expected[e] += data.bias[e % static_cast<std::size_t>(c.k)];
      if (c.relu) expected[e] = std::min(std::max(expected[e], 0.0F), c.upper_clip);
      ASSERT_EQ(got[e], expected[e]) << c.text() << " at " << e;
    }
  }
}

TEST(FusedConvolution, GivesTheSameBitsUnderEverySchedule) {
  const DnnHandle handle;
  Random random(122);
  for (int i = 0; i < 4; ++i) {
    ConvolutionCase c = random_fused(random);
    c.n = 29, c.h += 12, c.w += 12;
    c.type = i % 2 == 0 ? Narrow::f32 : Narrow::f16;
    const ConvolutionData data = random_data(c, random);
    const std::vector<float> first = run_convolution(handle, c, data);
    for (const std::uint64_t seed : {1, 5}) {
      sim::set_schedule_seed(seed);
      const std::vector<float> again = run_convolution(handle, c, data);
      sim::set_schedule_seed(0);
      ASSERT_EQ(std::memcmp(first.data(), again.data(), first.size() * sizeof(float)), 0) << c.text() << " seed " << seed;
    }
  }
}

// x -> conv -> copy back -> conv ...: right only if each waits for the one before. 1 x 1 with weight 3 triples.
TEST(Convolution, RunsInTheOrderOfItsStream) {
  const DnnHandle handle;
  const Stream stream;
  ASSERT_EQ(cudnnSetStream(handle.get(), stream.get()), CUDNN_STATUS_SUCCESS);
  ConvolutionCase c;
  c.n = 16, c.h = c.w = 20;
  const Descriptor plan = make_plan(handle, make_heuristic(make_graph(handle, make_operation(c, c.filter_strides()))));
  const auto elements = static_cast<std::size_t>(c.image_elements());
  std::vector<float> start(elements);
  for (std::size_t i = 0; i < elements; ++i) start[i] = static_cast<float>(i % 11);
  const DeviceArray x(start), w(std::vector<float>{3}), y(elements),
      workspace(static_cast<std::size_t>(workspace_of(plan)) / sizeof(float) + 1);
  const Descriptor pack = make_pack({x.data(), w.data(), y.data()}, workspace.data());
  for (const std::uint64_t seed : {0, 3, 4}) {
    sim::set_schedule_seed(seed);
    x.download();
    ASSERT_EQ(cudaMemcpyAsync(x.data(), start.data(), elements * sizeof(float), cudaMemcpyHostToDevice, stream.get()), cudaSuccess);
    for (int turn = 0; turn < 4; ++turn) {
      ASSERT_EQ(cudnnBackendExecute(handle.get(), plan.raw(), pack.raw()), CUDNN_STATUS_SUCCESS);
      ASSERT_EQ(cudaMemcpyAsync(x.data(), y.data(), elements * sizeof(float), cudaMemcpyDeviceToDevice, stream.get()), cudaSuccess);
    }
    stream.wait();
    sim::set_schedule_seed(0);
    const std::vector<float> end = x.download();
    for (std::size_t i = 0; i < elements; ++i) ASSERT_EQ(end[i], 81.0F * start[i]) << "seed " << seed;
  }
}

// The plan outlives its descriptors while work is pending.
TEST(Convolution, RunsAfterItsDescriptorsAreGone) {
  const DnnHandle handle;
  const Stream stream;
  ASSERT_EQ(cudnnSetStream(handle.get(), stream.get()), CUDNN_STATUS_SUCCESS);
  struct Hold {
    std::atomic<bool> go{false};
  } hold;
  ASSERT_EQ(cudaLaunchHostFunc(
                stream.get(),
                [](void* data) {
                  while (!static_cast<Hold*>(data)->go.load()) {
                  }
                },
                &hold),
            cudaSuccess);
  const DeviceArray x(std::vector<float>{5}), w(std::vector<float>{3}), y(std::vector<float>{-1}), workspace(std::size_t{4096});
  {
    const ConvolutionCase c;
    const Descriptor plan = make_plan(handle, make_heuristic(make_graph(handle, make_operation(c, c.filter_strides()))));
    ASSERT_LE(workspace_of(plan), std::int64_t{16384});
    const Descriptor pack = make_pack({x.data(), w.data(), y.data()}, workspace.data());
    ASSERT_EQ(cudnnBackendExecute(handle.get(), plan.raw(), pack.raw()), CUDNN_STATUS_SUCCESS);
  }
  EXPECT_EQ(cudaStreamQuery(stream.get()), cudaErrorNotReady);
  hold.go = true;
  stream.wait();
  EXPECT_EQ(y.download()[0], 15.0F);
}

}  // namespace
}  // namespace lockstep::test
