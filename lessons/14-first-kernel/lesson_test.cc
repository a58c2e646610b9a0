// The tests of lesson 14. Your file is included before this one.
#include <cstdlib>

#include "lesson_test.h"

namespace lesson {

const bool kFaithful = setenv("LOCKSTEP_SIM_KERNELS", "faithful", 1) == 0;

cudaLaunchConfig_t configuration(unsigned blocks, unsigned threads) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads);
  return config;
}

std::string grid(unsigned blocks, unsigned threads) {
  return std::to_string(blocks) + (blocks == 1 ? " block of " : " blocks of ") + std::to_string(threads) +
         (threads == 1 ? " thread" : " threads");
}

void run_saxpy(std::int64_t n, unsigned blocks, unsigned threads) {
  Replicas memory(1, n, [](int, std::int64_t i) { return static_cast<float>(i); });
  write(memory[0].staging, std::vector<float>(static_cast<std::size_t>(n), 0.5F));
  const auto config = configuration(blocks, threads);
  lockstep::annotate_next_launch("saxpy", {});
  CHECK_CUDA(cudaLaunchKernelEx(&config, saxpy, 2.0F, View<const float>{memory[0].buffer, n}, View<float>{memory[0].staging, n}));
  const std::vector<float> y = read(memory[0].staging, n);
  if (check_mode_complained()) return;
  for (std::int64_t i = 0; i < n; ++i) {
    const float wanted = 2 * static_cast<float>(i) + 0.5F, is = y[static_cast<std::size_t>(i)];
    REQUIRE(is == wanted) << n << " elements, " << grid(blocks, threads) << ": y[" << i << "] should be 2 * " << i
                          << " + 0.5 = " << number(wanted) << " and is " << number(is) << (is == 0.5F ? ": no thread computed it" : "")
                          << ".";
  }
}

TEST(Saxpy, AThreadForEveryElement) { run_saxpy(12, 3, 4); }
TEST(Saxpy, MoreThreadsThanElements) { run_saxpy(1022, 4, 256); }
TEST(Saxpy, FewerThreadsThanElements) {
  run_saxpy(1000, 2, 32);
  run_saxpy(17, 1, 1);
}

TEST(BlocksFor, RoundsUp) {
  for (const auto& [n, threads, wanted] : {std::tuple{1024, 256U, 4U}, std::tuple{1025, 256U, 5U}, std::tuple{10, 4U, 3U},
                                           std::tuple{1, 128U, 1U}, std::tuple{1023, 256U, 4U}}) {
    const unsigned blocks = blocks_for(n, threads);
    EXPECT(blocks == wanted) << n << " elements in blocks of " << threads << " threads need " << wanted << " blocks (" << wanted * threads
                             << " threads); you say " << blocks << " (" << blocks * threads << " threads).";
  }
}

void run_sums(std::int64_t n, unsigned threads) {
  const unsigned blocks = static_cast<unsigned>((n + threads - 1) / threads);
  Replicas memory(1, n, [](int, std::int64_t i) { return static_cast<float>(i % 10 + 1); });
  const auto config = configuration(blocks, threads);
  lockstep::annotate_next_launch("block_sums", {});
  CHECK_CUDA(cudaLaunchKernelEx(&config, block_sums, View<const float>{memory[0].buffer, n}, View<float>{memory[0].staging, blocks}));
  const std::vector<float> sums = read(memory[0].staging, blocks);
  if (check_mode_complained()) return;
  for (unsigned b = 0; b < blocks; ++b) {
    float wanted = 0;
    for (std::int64_t i = static_cast<std::int64_t>(b) * threads; i < std::min<std::int64_t>(n, (b + 1) * threads); ++i)
      wanted += static_cast<float>(i % 10 + 1);
    REQUIRE(sums[b] == wanted) << n << " elements, " << grid(blocks, threads) << ": the sum of block " << b << " should be "
                               << number(wanted) << " and is " << number(sums[b])
                               << (std::isnan(sums[b]) ? ", which uninitialised memory holds" : "") << ".";
  }
}

TEST(BlockSums, OneSmallBlock) { run_sums(8, 8); }
TEST(BlockSums, ManyBlocks) { run_sums(1024, 256); }
TEST(BlockSums, TheLastBlockIsNotFull) { run_sums(1000, 128); }
TEST(BlockSums, BlocksOfOneThread) { run_sums(5, 1); }
TEST(BlockSums, ThreadsMayRunInAnyOrder) {
  for (std::uint64_t order = 1; order <= 8 && !testing::Test::HasFailure() && !check_mode_complained(); ++order) {
    shuffle_threads(order);
    run_sums(64, 32);
  }
  shuffle_threads(0);
  EXPECT(!testing::Test::HasFailure() && !check_mode_complained())
      << "The threads of the block ran in another order this time. Between the last write of an element of shared memory and another "
         "thread's read "
         "there must be a __syncthreads().";
}

}  // namespace lesson
