// The kernels of a training step from nvcc's PTX against the fast ones: how many times slower, warp instructions a second, equality of the
// step.
//
// Times are processor time of one step, by kernel: ptx_bench [WORKLOAD BATCH], without arguments MNIST with 128 samples and Reuters
// with 32.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "bench/warp_steps.h"
#include "bench/workloads.h"
#include "simulator/gpu/ptx/counts.h"
#include "simulator/gpu/runtime/profile.h"
#include "tests/simulator/gpu/ptx/support/launch_from_ptx.h"

namespace {

using namespace lockstep;

struct Step {
  std::map<std::string, double> seconds;  // by kernel, of one step
  double wall = 0;
  std::vector<NamedArray> weights;  // after the first step
};

Step run(const bench::Workload& what, std::int64_t batch, const std::vector<NamedArray>* start, int steps) {
  const Array x = bench::inputs(what, batch), y = bench::labels(what, batch);
  Model model = OneDeviceStrategy().scope([&] { return what.make(); });
  model.build(what.sample);
  if (start != nullptr) model.set_weights(*start);
  Step result;
  if (steps == 0) {
    result.weights = model.get_weights();
    return result;
  }
  model.train_on_batch(x, y);
  result.weights = model.get_weights();
  sim::profile().start();
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < steps; ++i) model.train_on_batch(x, y);
  result.wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / steps;
  for (const sim::ProfileRow& row : sim::profile().take()) result.seconds[row.name] += row.seconds / steps;
  return result;
}

// |a - b| / |b| over all weights.
double distance(const std::vector<NamedArray>& a, const std::vector<NamedArray>& b) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::int64_t k = 0; k < a[i].values.size(); ++k) {
      const double x = a[i].values.data<float>()[k], y = b[i].values.data<float>()[k];
      difference += (x - y) * (x - y);
      size += y * y;
    }
  }
  return std::sqrt(difference / size);
}

void compare(const std::string& name, std::int64_t batch) {
  const bench::Workload what = bench::find_workload(name);
  const std::vector<NamedArray> start = run(what, batch, nullptr, 0).weights;
  const Step fast = run(what, batch, &start, 20);
  Step slow;
  {
    const testing::LaunchFromPtx from_ptx(testing::kernel_modules());
    slow = run(what, batch, &start, 4);
  }
  ptx::Counts counted;
  const auto modules = testing::kernel_modules(&counted);
  {
    const testing::LaunchFromPtx from_ptx(modules);
    run(what, batch, &start, 1);
  }
  const auto counts = bench::by_kernel(*modules, counted);
  std::printf("%s, %lld samples: a step takes %.1f ms from PTX and %.2f ms with fast kernels\n", name.c_str(),
              static_cast<long long>(batch), 1e3 * slow.wall, 1e3 * fast.wall);
  std::printf("%-32s %10s %10s %8s %18s\n", "kernel", "fast us", "PTX us", "times", "warp instructions");
  double logarithms = 0, in_kernels = 0, instructions = 0;
  int kernels = 0;
  for (const auto& [kernel, seconds] : slow.seconds) {
    const auto other = fast.seconds.find(kernel);
    const auto count = counts.find(kernel);
    if (other == fast.seconds.end() || count == counts.end()) continue;
    const double executed = static_cast<double>(count->second.instructions) / 2;  // of two steps
    std::printf("%-32.32s %10.1f %10.1f %8.1f %18.0f\n", kernel.c_str(), 1e6 * other->second, 1e6 * seconds, seconds / other->second,
                executed);
    instructions += executed;
    logarithms += std::log(seconds / other->second);
    in_kernels += seconds;
    ++kernels;
  }
  const double far = distance(slow.weights, fast.weights);
  std::printf(
      "geometric mean of %d kernels: %.1f times slower; %.0f million warp instructions a second and core; weights differ by %.1e (%s)\n\n",
      kernels, std::exp(logarithms / kernels), 1e-6 * instructions / in_kernels, far, far < 1e-6 ? "right" : "WRONG");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2) {
    compare(argv[1], std::atoll(argv[2]));
    return 0;
  }
  compare("mnist", 128);
  compare("reuters", 32);
}
