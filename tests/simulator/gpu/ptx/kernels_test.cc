// The engine's own kernels from nvcc's PTX against the fast ones, on every case of the kernel table.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <iostream>
#include <memory>
#include <set>

#include "tests/engine/kernels/support/kernel_case.h"
#include "tests/simulator/gpu/ptx/support/launch_from_ptx.h"

namespace lockstep::testing {

namespace {

constexpr Grid kShapes[] = {{1, 1}, {1, 32}, {3, 48}, {2, 128}, {7, 33}, {1, 256}};

// The distance of two floats in steps of the last place; 0 for two that are no numbers.
std::uint64_t ulps(std::uint32_t a, std::uint32_t b) {
  const auto is_nan = [](std::uint32_t bits) { return (bits & 0x7fffffffU) > 0x7f800000U; };
  if (is_nan(a) && is_nan(b)) return 0;
  if (is_nan(a) != is_nan(b)) return ~std::uint64_t{0};
  const auto line = [](std::uint32_t bits) {
    return (bits >> 31) != 0 ? -static_cast<std::int64_t>(bits & 0x7fffffffU) : static_cast<std::int64_t>(bits);
  };
  return static_cast<std::uint64_t>(std::llabs(line(a) - line(b)));
}

struct Comparison {
  bool equal = true;
  std::uint64_t largest = 0;
};
Comparison compare(const std::vector<std::vector<unsigned char>>& a, const std::vector<std::vector<unsigned char>>& b) {
  Comparison result;
  for (std::size_t i = 0; i < a.size(); ++i) {
    result.equal = result.equal && a[i] == b[i];
    for (std::size_t k = 0; k + 4 <= a[i].size(); k += 4) {
      std::uint32_t x = 0, y = 0;
      std::memcpy(&x, a[i].data() + k, 4);
      std::memcpy(&y, b[i].data() + k, 4);
      result.largest = std::max(result.largest, ulps(x, y));
    }
  }
  return result;
}

struct Totals {
  int cases = 0, equal = 0;
  std::uint64_t largest = 0;
  std::string largest_at;
  std::set<std::string> kernels, not_equal;
};

// Runs cases of the table whose kernel is in the modules.
Totals compare_all(const std::shared_ptr<const sim::PtxModules>& from, std::initializer_list<unsigned> seeds) {
  const Stream stream(0);
  Totals totals;
  const std::vector<std::string> names = from->names();
  const auto has = [&](const std::string& kernel) {
    const std::string part = std::to_string(kernel.size()) + kernel + "E";  // as it stands in a mangled name
    return std::any_of(names.begin(), names.end(),
                       [&](const std::string& name) { return name.find("kernels" + part) != std::string::npos; });
  };
  for (const KernelCase& tested : kernel_cases()) {
    const std::string kernel = tested.kernel.substr(0, tested.kernel.find('<'));
    if (!has(kernel)) continue;
    totals.kernels.insert(tested.kernel);
    for (const unsigned seed : seeds) {
      Random random(seed);
      KernelInstance instance;
      tested.make(random, instance);
      for (const Grid grid : kShapes) {
        instance.run(stream, grid);
        const auto fast = instance.written();
        {
          const LaunchFromPtx from_ptx(from);
          instance.run(stream, grid);
        }
        const Comparison found = compare(instance.written(), fast);
        ++totals.cases;
        totals.equal += found.equal ? 1 : 0;
        if (!found.equal) totals.not_equal.insert(tested.kernel);
        if (found.largest > totals.largest) {
          totals.largest = found.largest;
          totals.largest_at = tested.kernel + " of shape " + instance.shape;
        }
      }
    }
  }
  return totals;
}

// Kernels with an exponential, a logarithm or a tangent: CUDA's functions differ from the host's in the last places.
const std::set<std::string> kWithMathFunctions = {"binary_cross_entropy",
                                                  "binary_cross_entropy_probabilities",
                                                  "categorical_cross_entropy",
                                                  "categorical_cross_entropy_probabilities",
                                                  "hyperbolic_tangent",
                                                  "sigmoid",
                                                  "softmax",
                                                  "sparse_cross_entropy",
                                                  "sparse_cross_entropy_probabilities"};
constexpr std::uint64_t kMostUlps = 4;

TEST(PtxKernels, EqualTheFastOnesOnEveryCaseAndShape) {
  if (!kHasKernelPtx) GTEST_SKIP() << "no nvcc was found when configuring: there is no PTX of the kernels";
  const auto modules = kernel_modules();
  const Totals totals = compare_all(modules, {1, 2, 3, 4});
  std::cout << totals.kernels.size() << " kernels, " << totals.cases << " cases, " << totals.equal
            << " equal to the bit, largest difference of the rest " << totals.largest << " ulp (" << totals.largest_at << ")\n";
  EXPECT_EQ(totals.kernels.size(), kernel_cases().size());
  EXPECT_EQ(totals.kernels.size(), modules->names().size());
  EXPECT_LE(totals.largest, kMostUlps);
  for (const std::string& name : totals.not_equal) EXPECT_EQ(kWithMathFunctions.count(name), 1U) << name << " differs from the fast kernel";
}

TEST(PtxKernels, AWrongConstantInOneKernelIsFound) {
  if (!kHasKernelPtx) GTEST_SKIP() << "no nvcc was found when configuring: there is no PTX of the kernels";
  const std::string right = "0f3F800000", wrong = "0f3F800001";  // 1.0, and the next float
  int planted = 0;
  for (const std::string& file : kernel_ptx_files()) {
    std::string text = kernel_ptx_text(file);
    const std::size_t at = text.find(right);
    if (at == std::string::npos) continue;
    text.replace(at, right.size(), wrong);
    const auto changed = std::make_shared<sim::PtxModules>();
    changed->add(text);
    const Totals totals = compare_all(changed, {1, 2, 3});
    EXPECT_FALSE(totals.not_equal.empty()) << "the wrong constant in " << file << " was not found";
    for (const std::string& name : totals.not_equal) std::cout << "a wrong constant is found in " << name << "\n";
    ++planted;
    break;
  }
  EXPECT_EQ(planted, 1);
}

}  // namespace

}  // namespace lockstep::testing
