// Embedding, rows in use, Nadam, weight decay, top k.
#include "engine/kernels/embedding_kernels.h"
#include "engine/kernels/metric_kernels.h"
#include "engine/kernels/nadam_kernels.h"
#include "engine/kernels/sparse_row_kernels.h"
#include "tests/engine/kernels/support/kernel_case.h"

namespace lockstep::testing {

namespace {

// Numbers of rows, some of them outside the table.
std::vector<std::int32_t> row_numbers(Random& random, std::int64_t n, std::int64_t rows) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(n));
  for (auto& id : ids)
    id = static_cast<std::int32_t>(between(random, 0, 20) == 0 ? between(random, 0, 1) * (rows + 1) - 1 : between(random, 0, rows - 1));
  return ids;
}

void make_lookup(Random& random, KernelInstance& instance) {
  const std::int64_t n = between(random, 1, 200), rows = between(random, 1, 40), columns = between(random, 1, 9);
  const auto ids = instance.input(row_numbers(random, n, rows));
  const auto table = instance.input(normal(random, rows * columns));
  const auto y = instance.output<float>(n * columns);
  instance.shape = std::to_string(n) + " of " + std::to_string(rows) + " x " + std::to_string(columns);
  instance.start = [=](const Stream& s, Grid g) {
    launch(s, "embedding_lookup", kernels::embedding_lookup_cost(n, columns), g, kernels::embedding_lookup, ids.read(), table.read(),
           y.write(), columns);
  };
  instance.check = [=] {
    std::vector<double> expected;
    for (const std::int32_t id : ids.initial())
      for (std::int64_t c = 0; c < columns; ++c)
        expected.push_back(id >= 0 && id < rows ? table.initial()[static_cast<std::size_t>(id * columns + c)] : std::nan(""));
    expect_close(y.now(), expected, 0);
  };
}

void make_gradient(Random& random, KernelInstance& instance) {
  const std::int64_t n = between(random, 1, 300), rows = between(random, 1, 60), columns = between(random, 1, 9);
  const bool squared = between(random, 0, 1) != 0;
  const auto ids = instance.input(row_numbers(random, n, rows));
  const auto dy = instance.input(normal(random, n * columns));
  const auto dtable = instance.output<float>(rows * columns);
  const auto squares = instance.output<float>(squared ? rows * columns : 0);
  instance.shape = std::to_string(n) + " into " + std::to_string(rows) + " x " + std::to_string(columns) + (squared ? " with squares" : "");
  instance.start = [=](const Stream& s, Grid g) {
    launch(s, "embedding_gradient", kernels::embedding_gradient_cost(n, rows * columns, columns), g, kernels::embedding_gradient,
           ids.read(), dy.read(), dtable.write(), squares.write(), columns);
  };
  instance.check = [=] {
    std::vector<double> sums(static_cast<std::size_t>(rows * columns)), second(sums.size());
    for (std::size_t i = 0; i < ids.initial().size(); ++i) {
      const std::int32_t id = ids.initial()[i];
      if (id < 0 || id >= rows) continue;
      for (std::int64_t c = 0; c < columns; ++c) {
        const double g = dy.initial()[i * static_cast<std::size_t>(columns) + static_cast<std::size_t>(c)];
        sums[static_cast<std::size_t>(id * columns + c)] += g;
        second[static_cast<std::size_t>(id * columns + c)] += g * g;
      }
    }
    expect_close_to_scale(dtable.now(), sums, 1e-6);
    if (squared) expect_close_to_scale(squares.now(), second, 1e-6);
  };
}

void make_nadam(Random& random, KernelInstance& instance) {
  const std::int64_t n = between(random, 1, 3000);
  const bool given = between(random, 0, 1) != 0;
  auto positive = normal(random, n);
  for (float& value : positive) value *= value;
  const auto gradient = instance.input(normal(random, n));
  const auto squares = instance.input(positive);
  const auto weights = instance.in_out(normal(random, n));
  const auto m = instance.in_out(normal(random, n));
  const auto v = instance.in_out(positive);
  instance.shape = std::to_string(n) + (given ? " with squares" : "");
  instance.start = [=](const Stream& s, Grid g) {
    const kernels::NadamConstants constants{0.1F, 0.001F, 0.5F, 0.45F, 0.55F, 0.7F, 0.3F, 2e-3F, 1e-7F};
    const View<const float> second = given ? squares.read() : View<const float>{};
    launch(s, "nadam", kernels::nadam_cost(n), g, kernels::nadam, constants, gradient.read(), second, weights.write(), m.write(),
           v.write());
  };
  instance.check = [=] {
    std::vector<double> w1, m1, v1;
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
      const double g = gradient.initial()[i];
      m1.push_back(0.9 * m.initial()[i] + 0.1 * g);
      v1.push_back(0.999 * v.initial()[i] + 0.001 * (given ? squares.initial()[i] : g * g));
      w1.push_back(weights.initial()[i] - 2e-3 * (0.5 * m1[i] / 0.7 + 0.45 * g / 0.55) / (std::sqrt(v1[i] / 0.3) + 1e-7));
    }
    expect_close(m.now(), m1, 1e-6);
    expect_close(v.now(), v1, 1e-6);
    expect_close(weights.now(), w1, 1e-5);
  };
}

void make_decay(Random& random, KernelInstance& instance) {
  const std::int64_t n = between(random, 1, 3000);
  const auto weights = instance.in_out(normal(random, n));
  instance.shape = std::to_string(n);
  instance.start = [=](const Stream& s, Grid g) {
    launch(s, "decay_weights", kernels::decay_weights_cost(n), g, kernels::decay_weights, 0.04F, 0.1F, weights.write());
  };
  instance.check = [=] {
    std::vector<double> expected;
    for (const float w : weights.initial()) expected.push_back(w * (1 - 0.004));
    expect_close(weights.now(), expected, 1e-6);
  };
}

void make_top_k(Random& random, KernelInstance& instance) {
  const std::int64_t rows = between(random, 1, 300), columns = between(random, 1, 12), k = between(random, 1, 6);
  auto values = coarse(random, rows * columns);
  values[static_cast<std::size_t>(between(random, 0, rows * columns - 1))] = std::nanf("");
  const auto scores = instance.input(values);
  const auto labels = instance.input(row_numbers(random, rows, columns));
  const auto weights = instance.input(some_weights(random, rows));
  const auto sum = instance.in_out(std::vector<double>{3});
  instance.shape = std::to_string(rows) + " x " + std::to_string(columns) + ", k " + std::to_string(k);
  instance.start = [=](const Stream& s, Grid g) {
    launch(s, "add_in_top_k", kernels::add_in_top_k_cost(rows, columns), g, kernels::add_in_top_k, scores.read(), labels.read(),
           weights.read(), sum.write(), k, rows, columns);
  };
  instance.check = [=] {
    double expected = 3;
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto first = scores.initial().begin() + row * columns;
      const std::int32_t label = labels.initial()[static_cast<std::size_t>(row)];
      if (label < 0 || label >= columns || std::any_of(first, first + columns, [](float x) { return std::isnan(x); })) continue;
      const float at_label = first[label];
      expected +=
          std::count_if(first, first + columns, [at_label](float x) { return x > at_label; }) < k ? weight_at(weights.initial(), row) : 0;
    }
    EXPECT_EQ(sum.now()[0], expected);
  };
}

void make_pack_rows(Random& random, KernelInstance& instance) {
  const std::int64_t table_rows = between(random, 1, 200), columns = between(random, 1, 12), n = between(random, 1, 300);
  const auto table = instance.input(normal(random, table_rows * columns));
  std::vector<std::int32_t> wanted(static_cast<std::size_t>(n));
  for (std::int32_t& row : wanted) row = static_cast<std::int32_t>(between(random, -1, table_rows - 1));
  const auto rows = instance.input(wanted);
  const auto packed = instance.output<float>(n * columns);
  instance.shape = std::to_string(n) + " of " + std::to_string(table_rows) + " x " + std::to_string(columns);
  instance.start = [=](const Stream& s, Grid g) {
    launch(s, "pack_rows", kernels::pack_rows_cost(n, columns), g, kernels::pack_rows, table.read(), rows.read(), packed.write(), columns);
  };
  instance.check = [=] {
    std::vector<double> expected;
    for (const std::int32_t row : wanted)
      for (std::int64_t c = 0; c < columns; ++c)
        expected.push_back(row < 0 ? 0 : table.initial()[static_cast<std::size_t>(row * columns + c)]);
    expect_close(packed.now(), expected, 0);
  };
}

void make_merge_rows(Random& random, KernelInstance& instance) {
  const std::int64_t replicas = between(random, 1, 5), most = between(random, 1, 40), columns = between(random, 1, 12);
  const std::int64_t used = between(random, 1, 60), table_rows = used + between(random, 0, 20);
  const auto packed = instance.input(normal(random, replicas * most * columns));
  std::vector<std::int32_t> numbers(static_cast<std::size_t>(table_rows)), places(static_cast<std::size_t>(used * replicas));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::int32_t>(i);
  std::shuffle(numbers.begin(), numbers.end(), random);
  numbers.resize(static_cast<std::size_t>(used));
  for (std::int32_t& place : places) place = static_cast<std::int32_t>(between(random, -1, most - 1));
  const auto rows = instance.input(numbers);
  const auto positions = instance.input(places);
  const auto table = instance.in_out(normal(random, table_rows * columns));
  instance.shape = std::to_string(replicas) + " x " + std::to_string(most) + " x " + std::to_string(columns);
  instance.start = [=](const Stream& s, Grid g) {
    launch(s, "merge_rows", kernels::merge_rows_cost(used, replicas, columns), g, kernels::merge_rows, packed.read(), rows.read(),
           positions.read(), table.write(), most, columns);
  };
  instance.check = [=] {
    std::vector<double> expected(table.initial().begin(), table.initial().end());
    for (std::int64_t k = 0; k < used; ++k) {
      for (std::int64_t c = 0; c < columns; ++c) {
        double sum = 0;
        for (std::int64_t r = 0; r < replicas; ++r) {
          const std::int64_t at = places[static_cast<std::size_t>(k * replicas + r)];
          if (at >= 0) sum += packed.initial()[static_cast<std::size_t>((r * most + at) * columns + c)];
        }
        expected[static_cast<std::size_t>(numbers[static_cast<std::size_t>(k)] * columns + c)] = sum;
      }
    }
    expect_close(table.now(), expected, 1e-6);
  };
}

// add_rows and copy_rows.
void make_moved_rows(Random& random, KernelInstance& instance, bool adds) {
  const std::int64_t used = between(random, 1, 300), table_rows = used + between(random, 0, 100), columns = between(random, 1, 12);
  std::vector<std::int32_t> numbers(static_cast<std::size_t>(table_rows));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::int32_t>(i);
  std::shuffle(numbers.begin(), numbers.end(), random);
  numbers.resize(static_cast<std::size_t>(used));
  const auto from = instance.input(normal(random, table_rows * columns));
  const auto rows = instance.input(numbers);
  const auto to = instance.in_out(normal(random, table_rows * columns));
  instance.shape = std::to_string(used) + " of " + std::to_string(table_rows) + " x " + std::to_string(columns);
  instance.start = [=](const Stream& s, Grid g) {
    launch(s, adds ? "add_rows" : "copy_rows", adds ? kernels::add_rows_cost(used, columns) : kernels::copy_rows_cost(used, columns), g,
           adds ? kernels::add_rows : kernels::copy_rows, from.read(), rows.read(), to.write(), columns);
  };
  instance.check = [=] {
    std::vector<double> expected(to.initial().begin(), to.initial().end());
    for (const std::int32_t row : numbers)
      for (std::int64_t at = row * columns; at < (row + 1) * columns; ++at)
        expected[static_cast<std::size_t>(at)] =
            from.initial()[static_cast<std::size_t>(at)] + (adds ? to.initial()[static_cast<std::size_t>(at)] : 0.0F);
    expect_close(to.now(), expected, 0);
  };
}

}  // namespace

std::vector<KernelCase> sequence_cases() {
  return {{"embedding_lookup", make_lookup},
          {"embedding_gradient", make_gradient},
          {"nadam", make_nadam},
          {"decay_weights", make_decay},
          {"add_in_top_k", make_top_k},
          {"pack_rows", make_pack_rows},
          {"merge_rows", make_merge_rows},
          {"add_rows", [](Random& random, KernelInstance& instance) { make_moved_rows(random, instance, true); }},
          {"copy_rows", [](Random& random, KernelInstance& instance) { make_moved_rows(random, instance, false); }}};
}

}  // namespace lockstep::testing
