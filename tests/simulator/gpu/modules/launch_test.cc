// Kernels of PTX modules on streams: with raw pointers, as nvcc's programs pass them.
#include "simulator/gpu/modules/launch.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <vector>

#include "simulator/gpu/runtime/control.h"
#include "tests/simulator/gpu/ptx/support/run_ptx.h"

namespace lockstep::testing {

namespace {

constexpr char kHead[] = ".version 8.0\n.target sm_75\n.address_size 64\n";

// d[i] += 1 for i < n, a thread for each.
std::shared_ptr<const ptx::Module> increments() {
  const std::string body =
      ".reg .b64 %o, %t;\n.reg .b32 %r, %c, %n, %x, %b;\n.reg .pred %p;\nld.param.u64 %o, [d];\nld.param.u32 %n, [n];\nmov.u32 %r, "
      "%tid.x;\nmov.u32 %c, %ctaid.x;\nmov.u32 %b, %ntid.x;\nmad.lo.u32 %r, %c, %b, %r;\nsetp.ge.u32 %p, %r, %n;\n@%p ret;\n"
      "mul.wide.u32 %t, %r, 4;\nadd.s64 %o, %o, %t;\nld.global.u32 %x, [%o];\nadd.u32 %x, %x, 1;\nst.global.u32 [%o], %x;\nret;\n";
  return std::make_shared<const ptx::Module>(std::string(kHead) + ".visible .entry k(.param .u64 d, .param .u32 n)\n{\n" + body + "}\n");
}

// Adds 1 / (1 + block) to one float: the sum's bits tell the order of blocks.
std::shared_ptr<const ptx::Module> sums() {
  return std::make_shared<const ptx::Module>(
      std::string(kHead) +
      ".visible .entry k(.param .u64 d)\n{\n.reg .b64 %o;\n.reg .b32 %c;\n.reg .f32 %f, %g;\nld.param.u64 %o, [d];\nmov.u32 %c, "
      "%ctaid.x;\nadd.u32 %c, %c, 1;\ncvt.rn.f32.u32 %f, %c;\nrcp.rn.f32 %f, %f;\natom.global.add.f32 %g, [%o], %f;\nret;\n}\n");
}

class ModuleLaunch : public ::testing::Test {
 protected:
  ModuleLaunch() {
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    EXPECT_EQ(cudaMalloc(reinterpret_cast<void**>(&data), kCount * sizeof(std::uint32_t)), cudaSuccess);
    EXPECT_EQ(cudaMemset(data, 0, kCount * sizeof(std::uint32_t)), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);  // the stream does not wait for the legacy one
  }
  ~ModuleLaunch() override {
    sim::clear_device_errors();
    static_cast<void>(cudaFree(data));
    static_cast<void>(cudaStreamDestroy(stream));
  }
  std::vector<std::uint32_t> read() const {
    std::vector<std::uint32_t> values(kCount);
    EXPECT_EQ(cudaMemcpy(values.data(), data, kCount * sizeof(std::uint32_t), cudaMemcpyDeviceToHost), cudaSuccess);
    return values;
  }
  cudaError_t increment(std::uint32_t n, dim3 grid, dim3 block) const {
    return sim::launch(stream, increments(), "k", grid, block, 0, Packed(data, n).bytes());
  }

  static constexpr std::uint32_t kCount = 10000;
  cudaStream_t stream = nullptr;
  std::uint32_t* data = nullptr;
};

TEST_F(ModuleLaunch, RunsInTheOrderOfItsStream) {
  for (int i = 0; i < 3; ++i) ASSERT_EQ(increment(kCount, {100, 1, 1}, {100, 1, 1}), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(read(), std::vector<std::uint32_t>(kCount, 3));
}

// In check mode too, where fresh memory may not be read before it is written, and where device addresses are not the host's.
TEST_F(ModuleLaunch, WhatItWritesCanBeRead) {
  std::uint32_t* fresh = nullptr;
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&fresh), 64 * sizeof(std::uint32_t)), cudaSuccess);
  const auto numbers = std::make_shared<const ptx::Module>(
      std::string(kHead) +
      ".visible .entry k(.param .u64 d)\n{\n.reg .b64 %o, %t;\n.reg .b32 %r;\nld.param.u64 %o, [d];\nmov.u32 %r, %tid.x;\n"
      "mul.wide.u32 %t, %r, 4;\nadd.s64 %o, %o, %t;\nst.global.u32 [%o], %r;\nret;\n}\n");
  ASSERT_EQ(sim::launch(stream, numbers, "k", {1, 1, 1}, {64, 1, 1}, 0, Packed(fresh).bytes()), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  std::vector<std::uint32_t> values(64), expected(64);
  std::iota(expected.begin(), expected.end(), 0U);
  EXPECT_EQ(cudaMemcpy(values.data(), fresh, 64 * sizeof(std::uint32_t), cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(values, expected);
  EXPECT_EQ(cudaFree(fresh), cudaSuccess);
}

TEST_F(ModuleLaunch, IsPartOfAGraph) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t instance = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  ASSERT_EQ(increment(kCount, {40, 1, 1}, {256, 1, 1}), cudaSuccess);
  ASSERT_EQ(increment(1, {1, 1, 1}, {32, 1, 1}), cudaSuccess);
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&instance, graph, 0), cudaSuccess);
  for (int i = 0; i < 2; ++i) ASSERT_EQ(cudaGraphLaunch(instance, stream), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  std::vector<std::uint32_t> expected(kCount, 2);
  expected[0] = 4;
  EXPECT_EQ(read(), expected);
  EXPECT_EQ(cudaGraphExecDestroy(instance), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

TEST_F(ModuleLaunch, AtomicsTakeBlocksInOrder) {
  constexpr int kBlocks = 500;
  float expected = 0;
  for (int i = 0; i < kBlocks; ++i) expected += 1.0F / static_cast<float>(i + 1);
  const std::uint64_t before = sim::schedule_seed();
  for (std::uint64_t run = 1; run <= 10; ++run) {
    sim::set_schedule_seed(run);  // parts of an operation come in any order
    ASSERT_EQ(cudaMemsetAsync(data, 0, 4, stream), cudaSuccess);
    ASSERT_EQ(sim::launch(stream, sums(), "k", {kBlocks, 1, 1}, {1, 1, 1}, 0, Packed(data).bytes()), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    float sum = 0;
    std::memcpy(&sum, read().data(), sizeof(sum));
    EXPECT_EQ(sum, expected) << run;
  }
  sim::set_schedule_seed(before);
}

TEST_F(ModuleLaunch, WhatReachesBeyondItsAllocationIsAnIllegalAddress) {
  ::testing::internal::CaptureStderr();
  ASSERT_EQ(increment(kCount + 1000, {11, 1, 1}, {1024, 1, 1}), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorIllegalAddress);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("'ld.global.u32': access to 4 bytes"), std::string::npos) << said;
  EXPECT_NE(said.find("block (9, 0, 0)"), std::string::npos) << said;
}

TEST_F(ModuleLaunch, MemoryOfTheHostIsAnIllegalAddress) {
  ::testing::internal::CaptureStderr();
  std::vector<std::uint32_t> host(32);
  ASSERT_EQ(sim::launch(stream, increments(), "k", {1, 1, 1}, {32, 1, 1}, 0, Packed(host.data(), 32U).bytes()), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorIllegalAddress);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("which is host memory that was not page-locked"), std::string::npos) << said;
}

TEST_F(ModuleLaunch, IsRefusedWithCudasStatuses) {
  const Packed arguments(data, kCount);
  EXPECT_EQ(sim::launch(stream, increments(), "absent", {1, 1, 1}, {32, 1, 1}, 0, arguments.bytes()), cudaErrorInvalidDeviceFunction);
  EXPECT_EQ(sim::launch(stream, increments(), "k", {1, 1, 1}, {32, 1, 1}, 0, arguments.bytes().first(8)), cudaErrorInvalidValue);
  EXPECT_EQ(increment(kCount, {1, 1, 1}, {2048, 1, 1}), cudaErrorInvalidConfiguration);
  EXPECT_EQ(increment(kCount, {1, 65536, 1}, {1, 1, 1}), cudaErrorInvalidConfiguration);
  EXPECT_EQ(read(), std::vector<std::uint32_t>(kCount, 0));
}

}  // namespace

}  // namespace lockstep::testing
