// The sanitizers see what happens inside operations: on fibers, each with a stack of its own, and on worker threads. Planted bugs
// must be reported; without a sanitizer there is nothing to see here.
#include <atomic>
#include <cstdlib>
#include <memory>
#include <thread>

#include <backend/kernel_support.h>
#include "tests/simulator/gpu/runtime/support/gpu_test.h"

namespace lockstep::test {

namespace {
// Hides from the compiler what an index will be.
volatile int hidden_index = 4;
}  // namespace

#if defined(__SANITIZE_ADDRESS__)

__global__ void overflow_the_heap(View<float> y) {
  each_block(1, [=](std::int64_t) {
    each_thread(y.count, [=](std::int64_t i) { y[i] = static_cast<float>(i); });
    __syncthreads();  // threads have taken turns before
    each_thread(y.count, [=](std::int64_t i) {
      const std::unique_ptr<int[]> own(new int[4]());
      if (i == 3) own[static_cast<std::size_t>(hidden_index)] = 1;
      y[i] += static_cast<float>(own[0]);
    });
  });
}

__global__ void overflow_the_stack(View<float> y) {
  each_block(1, [=](std::int64_t) {
    each_thread(y.count, [=](std::int64_t i) { y[i] = static_cast<float>(i); });
    __syncthreads();
    each_thread(y.count, [=](std::int64_t i) {
      int room[4] = {};
      int* volatile own = room;  // hidden from the other sanitizer, which knows the bounds of arrays
      if (i == 3) own[hidden_index] = 1;
      y[i] += static_cast<float>(own[hidden_index - 4]);
    });
  });
}

namespace {

void run_on_fibers(void (*kernel)(View<float>)) {
  sim::set_kernel_mode(sim::KernelMode::faithful);
  const DeviceArray<float> y(8);
  const auto config = configuration(1, 8);
  cudaLaunchKernelEx(&config, kernel, y.view());
  cudaDeviceSynchronize();
}

TEST(SanitizerDeathTest, AddressSanitizerSeesTheHeapFromAFiber) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(run_on_fibers(overflow_the_heap), "heap-buffer-overflow(.|\n)*overflow_the_heap");
}

TEST(SanitizerDeathTest, AddressSanitizerSeesTheStackOfAFiber) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(run_on_fibers(overflow_the_stack), "stack-buffer-overflow(.|\n)*overflow_the_stack");
}

}  // namespace

#elif defined(__SANITIZE_THREAD__)

namespace {

int shared_by_all = 0;  // touched without any order: the bug
std::atomic<int> there{0}, gone{0};
int expected = 2;

// Both are there before either counts: between two operations a worker takes locks, which could happen to order them. Then one
// after the other: the sanitizer looks at its shadow and writes it in two moves, so it misses touches at the very same moment.
// Relaxed atomics order nothing else, in the language and for the sanitizer.
void meet_and_count() {
  const int turn = there.fetch_add(1, std::memory_order_relaxed);
  while (there.load(std::memory_order_relaxed) < expected || gone.load(std::memory_order_relaxed) < turn % expected)
    std::this_thread::yield();
  shared_by_all += 1;
  gone.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

__global__ void count_up(View<float> y) {
  each_block(1, [=](std::int64_t) {
    each_thread(y.count, [=](std::int64_t i) { y[i] = static_cast<float>(i); });
    __syncthreads();
    each_thread(y.count, [=](std::int64_t i) {
      if (i == 3) meet_and_count();
    });
  });
}

namespace {

// Two operations on two streams; with `ordered` the second waits for the first.
void run_two(bool kernels, bool ordered) {
  sim::set_kernel_mode(sim::KernelMode::faithful);
  if (ordered) expected = 1;
  const DeviceArray<float> one(8), two(8);
  const TestStream a, b;
  const TestEvent event;
  const auto start = [&](cudaStream_t stream, const DeviceArray<float>& y) {
    if (kernels) {
      const auto config = configuration(1, 8, stream);
      cudaLaunchKernelEx(&config, count_up, y.view());
    } else {
      sim::Operation operation;
      operation.run = [](int) { meet_and_count(); };
      sim::enqueue(stream, std::move(operation));
    }
  };
  start(a, one);
  if (ordered) {
    cudaEventRecord(event, a);
    cudaStreamWaitEvent(b, event, 0);
  }
  start(b, two);
  cudaDeviceSynchronize();
  std::exit(0);  // the sanitizer's own code, if it has found something
}

TEST(SanitizerDeathTest, ThreadSanitizerSeesARaceOfTwoOperations) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(run_two(false, false), ::testing::ExitedWithCode(66), "data race");
}

TEST(SanitizerDeathTest, ThreadSanitizerSeesARaceOfTwoFibers) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(run_two(true, false), ::testing::ExitedWithCode(66), "data race");
}

TEST(SanitizerDeathTest, ThreadSanitizerKnowsThatEventsOrder) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(run_two(false, true), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(run_two(true, true), ::testing::ExitedWithCode(0), "");
}

}  // namespace

#else

namespace {

TEST(SanitizerDeathTest, NeedsASanitizer) { GTEST_SKIP() << "run it with the preset sim-asan or sim-tsan, not " << hidden_index; }

}  // namespace

#endif

}  // namespace lockstep::test
