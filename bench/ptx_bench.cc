// Our kernels from nvcc's PTX against the fast ones, the same arguments: how many times slower, warp instructions a second, and beside it
// whether the results are equal. The fast ones use all workers; LOCKSTEP_SIM_WORKERS=1 compares one thread with one thread.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "engine/device/check.h"
#include "engine/device/launch.h"
#include "engine/device/stream.h"
#include "engine/kernels/elementwise_kernels.h"
#include "engine/kernels/optimizer_kernels.h"
#include "engine/kernels/smooth_activation_kernels.h"
#include "tests/simulator/gpu/ptx/support/launch_from_ptx.h"

namespace {

using namespace lockstep;

constexpr std::int64_t kRows = 512, kElements = kRows * 512;

template <typename T>
class Memory {
 public:
  explicit Memory(std::int64_t count) : count_(count) { LOCKSTEP_CHECK(cudaMalloc(&data_, bytes())); }
  ~Memory() { static_cast<void>(cudaFree(data_)); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  void set(const std::vector<T>& values) { LOCKSTEP_CHECK(cudaMemcpy(data_, values.data(), bytes(), cudaMemcpyHostToDevice)); }
  std::vector<T> get() const {
    std::vector<T> values(static_cast<std::size_t>(count_));
    LOCKSTEP_CHECK(cudaMemcpy(values.data(), data_, bytes(), cudaMemcpyDeviceToHost));
    return values;
  }
  View<const T> read() const { return {static_cast<const T*>(data_), count_}; }
  View<T> write() const { return {static_cast<T*>(data_), count_}; }

 private:
  std::size_t bytes() const { return static_cast<std::size_t>(count_) * sizeof(T); }
  std::int64_t count_;
  void* data_ = nullptr;
};

double seconds(const std::function<void()>& run) {
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    const auto start = std::chrono::steady_clock::now();
    run();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

}  // namespace

int main() {
  const Stream stream(0);
  const Grid grid = grid_for_elements(kElements);
  Memory<float> x(kElements), y(kElements);
  Memory<std::uint64_t> sums(256);
  std::vector<float> values(kElements);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 1000) * 0.01F - 5;
  x.set(values);
  const View<const std::uint32_t> words{reinterpret_cast<const std::uint32_t*>(x.read().data), kElements};
  const std::pair<const char*, std::function<void()>> table[] = {
      {"fill", [&] { launch(stream, "fill", {}, grid, kernels::fill, 2.5F, y.write()); }},
      {"add", [&] { launch(stream, "add", {}, grid, kernels::add, x.read(), y.write()); }},
      {"transpose",
       [&] {
         launch(stream, "transpose", {}, {256, 256}, kernels::transpose, x.read(), y.write(), kRows, kElements / kRows);
       }},
      {"checksum",
       [&] {
         launch(stream, "checksum", {}, {256, 64}, kernels::checksum, words, sums.write());
       }},
      {"sigmoid", [&] { launch(stream, "sigmoid", {}, grid, kernels::sigmoid, y.write()); }},
      {"sgd", [&] { launch(stream, "sgd", {}, grid, kernels::sgd, 0.5F, x.read(), y.write()); }},
  };
  const auto modules = testing::kernel_modules();
  std::printf("%-12s %10s %10s %8s %22s %s\n", "kernel", "fast ms", "PTX ms", "times", "warp instructions/s", "equal");
  double product = 1;
  int count = 0;
  for (const auto& [name, start] : table) {
    const auto run = [&, &begin = start] {
      begin();
      stream.synchronize();
    };
    y.set(values);
    run();
    const auto fast_floats = y.get();
    const auto fast_sums = sums.get();
    const double fast = seconds(run);
    ptx::Counts counts;
    y.set(values);
    {
      const testing::LaunchFromPtx counted(testing::kernel_modules(&counts));
      run();
    }
    const bool equal = y.get() == fast_floats && sums.get() == fast_sums;
    double slow = 0;
    {
      const testing::LaunchFromPtx from_ptx(modules);
      slow = seconds(run);
    }
    std::printf("%-12s %10.3f %10.3f %8.1f %22.0f %s\n", name, 1e3 * fast, 1e3 * slow, slow / fast,
                static_cast<double>(counts.total().instructions) / slow, equal ? "to the bit" : "no");
    product *= slow / fast;
    ++count;
  }
  std::printf("geometric mean: %.1f times slower\n", std::pow(product, 1.0 / count));
}
