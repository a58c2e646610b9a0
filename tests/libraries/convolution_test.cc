// The virtual cuDNN computes every convolution it plans.
#include <control.h>

#include <atomic>
#include <cstring>
#include <string>

#include "support/convolution.h"

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
