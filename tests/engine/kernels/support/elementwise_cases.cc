// Fill, add one or several, transpose, checksum.
#include "engine/kernels/elementwise_kernels.h"

#include "engine/kernels/sum_kernels.h"
#include "tests/engine/kernels/support/kernel_case.h"

namespace lockstep::testing {

namespace {

std::uint64_t mixed(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

}  // namespace

std::vector<KernelCase> elementwise_cases() {
  std::vector<KernelCase> cases;
  cases.push_back({"fill", [](Random& random, KernelInstance& instance) {
                     const std::int64_t n = between(random, 1, 3000);
                     const auto y = instance.output<float>(n);
                     instance.shape = std::to_string(n);
                     instance.start = [=](const Stream& s, Grid g) {
                       launch(s, "fill", kernels::fill_cost(n), g, kernels::fill, 2.5F, y.write());
                     };
                     instance.check = [=] { EXPECT_EQ(y.now(), std::vector<float>(static_cast<std::size_t>(n), 2.5F)); };
                   }});
  cases.push_back({"add", [](Random& random, KernelInstance& instance) {
                     const std::int64_t n = between(random, 1, 3000);
                     const auto x = instance.input(normal(random, n));
                     const auto y = instance.in_out(normal(random, n));
                     instance.shape = std::to_string(n);
                     instance.start = [=](const Stream& s, Grid g) {
                       launch(s, "add", kernels::add_cost(n), g, kernels::add, x.read(), y.write());
                     };
                     instance.check = [=] {
                       auto expected = y.initial();
                       for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += x.initial()[i];
                       EXPECT_EQ(y.now(), expected);
                     };
                   }});
  cases.push_back({"add_several", [](Random& random, KernelInstance& instance) {
                     const std::int64_t n = between(random, 1, 3000), sources = between(random, 2, 7);
                     std::vector<decltype(instance.input(normal(random, n)))> xs;
                     for (std::int64_t k = 0; k < sources; ++k) xs.push_back(instance.input(normal(random, n)));
                     const auto y = instance.in_out(normal(random, n));
                     instance.shape = std::to_string(sources) + " x " + std::to_string(n);
                     instance.start = [=](const Stream& s, Grid g) {
                       const auto read = [&](std::size_t k) { return k < xs.size() ? xs[k].read() : View<const float>{}; };
                       launch(s, "add_several", kernels::add_several_cost(n, static_cast<int>(sources)), g, kernels::add_several, read(0),
                              read(1), read(2), read(3), read(4), read(5), read(6), y.write());
                     };
                     instance.check = [=] {
                       auto expected = y.initial();
                       for (const auto& x : xs)
                         for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += x.initial()[i];
                       EXPECT_EQ(y.now(), expected);
                     };
                   }});
  cases.push_back(
      {"transpose", [](Random& random, KernelInstance& instance) {
         const std::int64_t rows = between(random, 1, 80);
         const std::int64_t columns = between(random, 1, 80);
         const auto x = instance.input(normal(random, rows * columns));
         const auto y = instance.output<float>(rows * columns);
         instance.shape = std::to_string(rows) + " x " + std::to_string(columns);
         instance.start = [=](const Stream& s, Grid g) {
           launch(s, "transpose", kernels::transpose_cost(rows, columns), g, kernels::transpose, x.read(), y.write(), rows, columns);
         };
         instance.check = [=] {
           const auto actual = y.now();
           for (std::int64_t i = 0; i < rows; ++i) {
             for (std::int64_t j = 0; j < columns; ++j) {
               ASSERT_EQ(actual[static_cast<std::size_t>(j * rows + i)], x.initial()[static_cast<std::size_t>(i * columns + j)]);
             }
           }
         };
       }});
  cases.push_back({"checksum", [](Random& random, KernelInstance& instance) {
                     std::vector<std::uint32_t> values(static_cast<std::size_t>(between(random, 0, 3000)));
                     for (auto& value : values) value = random();
                     const std::int64_t parts = between(random, 1, 20);
                     const auto words = instance.input(values);
                     const auto sums = instance.output<std::uint64_t>(parts);
                     instance.shape = std::to_string(values.size()) + " words in " + std::to_string(parts);
                     instance.start = [=](const Stream& s, Grid g) {
                       launch(s, "checksum", kernels::checksum_cost(words.read().count), g, kernels::checksum, words.read(), sums.write());
                     };
                     instance.check = [=] {
                       std::uint64_t expected = 0;
                       for (std::uint64_t i = 0; i < words.initial().size(); ++i) expected += mixed((i << 32) ^ words.initial()[i]);
                       std::uint64_t actual = 0;
                       for (const std::uint64_t part : sums.now()) actual += part;
                       EXPECT_EQ(actual, expected);
                     };
                   }});
  cases.push_back({"checksum_total", [](Random& random, KernelInstance& instance) {
                     std::vector<std::uint64_t> values(static_cast<std::size_t>(between(random, 1, 300)));
                     std::uint64_t expected = 0;
                     for (auto& value : values) expected += value = (std::uint64_t{random()} << 32) + random();
                     const auto parts = instance.input(values);
                     const auto total = instance.output<std::uint64_t>(1);
                     instance.shape = std::to_string(values.size());
                     instance.start = [=](const Stream& s, Grid g) {
                       launch(s, "checksum_total", kernels::checksum_total_cost(parts.read().count), g, kernels::checksum_total,
                              parts.read(), total.write());
                     };
                     instance.check = [=] { EXPECT_EQ(total.now()[0], expected); };
                   }});
  return cases;
}

}  // namespace lockstep::testing
