// Pooling: the reference goes over windows and scatters, the kernels go over inputs and gather.
#include "engine/kernels/pooling_kernels.h"

#include "tests/engine/kernels/support/kernel_case.h"

namespace lockstep::testing {

namespace {

using kernels::PoolShape;

PoolShape any_pool(Random& random, bool two_by_two) {
  const auto pick = [&](std::int64_t low, std::int64_t high) { return static_cast<std::int32_t>(between(random, low, high)); };
  PoolShape s{};
  s.batch = pick(1, 3);
  s.channels = pick(1, 40);
  s.pool_h = two_by_two ? 2 : pick(1, 4);
  s.pool_w = two_by_two ? 2 : pick(1, 4);
  s.stride_h = two_by_two ? 2 : pick(1, 4);
  s.stride_w = two_by_two ? 2 : pick(1, 4);
  s.pad_top = two_by_two ? 0 : pick(0, s.pool_h - 1);
  s.pad_left = two_by_two ? 0 : pick(0, s.pool_w - 1);
  s.height = pick(s.pool_h, 12);
  s.width = pick(s.pool_w, 12);
  const std::int32_t pad_bottom = two_by_two ? 0 : pick(0, s.pool_h - 1);
  const std::int32_t pad_right = two_by_two ? 0 : pick(0, s.pool_w - 1);
  s.out_height = (s.height + s.pad_top + pad_bottom - s.pool_h) / s.stride_h + 1;
  s.out_width = (s.width + s.pad_left + pad_right - s.pool_w) / s.stride_w + 1;
  return s;
}

std::string str(const PoolShape& s) {
  return std::to_string(s.batch) + " x " + std::to_string(s.height) + " x " + std::to_string(s.width) + " x " + std::to_string(s.channels) +
         ", pool " + std::to_string(s.pool_h) + " x " + std::to_string(s.pool_w) + ", stride " + std::to_string(s.stride_h) + " x " +
         std::to_string(s.stride_w) + ", pad " + std::to_string(s.pad_top) + ", " + std::to_string(s.pad_left);
}

// Maxima of all windows, and the index of the first element that is one: a NaN wins over everything after and before it.
struct Maxima {
  std::vector<float> y;
  std::vector<std::size_t> first;
};
Maxima maxima_of(const PoolShape& s, const std::vector<float>& x) {
  Maxima result;
  for (std::int32_t n = 0; n < s.batch; ++n) {
    for (std::int32_t oy = 0; oy < s.out_height; ++oy) {
      for (std::int32_t ox = 0; ox < s.out_width; ++ox) {
        for (std::int32_t c = 0; c < s.channels; ++c) {
          float best = -INFINITY;
          std::size_t index = x.size();
          for (std::int32_t py = 0; py < s.pool_h; ++py) {
            for (std::int32_t px = 0; px < s.pool_w; ++px) {
              const std::int32_t iy = oy * s.stride_h - s.pad_top + py;
              const std::int32_t ix = ox * s.stride_w - s.pad_left + px;
              if (iy < 0 || iy >= s.height || ix < 0 || ix >= s.width) continue;
              const auto at = static_cast<std::size_t>(((n * s.height + iy) * s.width + ix) * s.channels + c);
              if (std::isnan(best)) continue;
              if (x[at] > best || std::isnan(x[at])) {
                best = x[at];
                index = at;
              }
            }
          }
          result.y.push_back(best);
          result.first.push_back(index);
        }
      }
    }
  }
  return result;
}

std::vector<float> image(Random& random, const PoolShape& s) {
  auto x = coarse(random, static_cast<std::int64_t>(kernels::pool_inputs(s)));
  if (between(random, 0, 1) != 0) x[static_cast<std::size_t>(between(random, 0, static_cast<std::int64_t>(x.size()) - 1))] = NAN;
  return x;
}

template <typename Kernel, typename CostOf>
KernelCase forward_case(const char* name, Kernel kernel, CostOf cost, bool two_by_two) {
  return {name, [=](Random& random, KernelInstance& instance) {
            const PoolShape s = any_pool(random, two_by_two);
            const auto x = instance.input(image(random, s));
            const auto y = instance.output<float>(static_cast<std::int64_t>(kernels::pool_outputs(s)));
            instance.shape = str(s);
            instance.start = [=](const Stream& stream, Grid g) { launch(stream, name, cost(s), g, kernel, s, x.read(), y.write()); };
            instance.check = [=] {
              const auto expected = maxima_of(s, x.initial()).y;
              expect_close(y.now(), std::vector<double>(expected.begin(), expected.end()), 0);
            };
          }};
}

template <typename Kernel, typename CostOf>
KernelCase gradient_case(const char* name, Kernel kernel, CostOf cost, bool two_by_two) {
  return {name, [=](Random& random, KernelInstance& instance) {
            const PoolShape s = any_pool(random, two_by_two);
            const auto x = instance.input(image(random, s));
            const Maxima maxima = maxima_of(s, x.initial());
            const auto y = instance.input(maxima.y);
            const auto dy = instance.input(normal(random, static_cast<std::int64_t>(maxima.y.size())));
            const auto dx = instance.output<float>(static_cast<std::int64_t>(x.initial().size()));
            instance.shape = str(s);
            instance.start = [=](const Stream& stream, Grid g) {
              launch(stream, name, cost(s), g, kernel, s, x.read(), y.read(), dy.read(), dx.write());
            };
            instance.check = [=] {
              std::vector<double> expected(x.initial().size());
              for (std::size_t i = 0; i < maxima.first.size(); ++i) {
                if (maxima.first[i] < expected.size()) expected[maxima.first[i]] += dy.initial()[i];
              }
              expect_close(dx.now(), expected, 1e-6);
            };
          }};
}

// f(input element, output element, share of it)
template <typename Function>
void each_share(const PoolShape& s, Function f) {
  for (int n = 0; n < s.batch; ++n)
    for (int oy = 0; oy < s.out_height; ++oy)
      for (int ox = 0; ox < s.out_width; ++ox) {
        std::vector<int> pixels;
        for (int y = oy * s.stride_h - s.pad_top; y < oy * s.stride_h - s.pad_top + s.pool_h; ++y)
          for (int x = ox * s.stride_w - s.pad_left; x < ox * s.stride_w - s.pad_left + s.pool_w; ++x)
            if (y >= 0 && y < s.height && x >= 0 && x < s.width) pixels.push_back((n * s.height + y) * s.width + x);
        for (const int p : pixels)
          for (int c = 0; c < s.channels; ++c)
            f(static_cast<std::size_t>(p * s.channels + c),
              static_cast<std::size_t>(((n * s.out_height + oy) * s.out_width + ox) * s.channels + c),
              1.0 / static_cast<double>(pixels.size()));
      }
}

void average(Random& random, KernelInstance& instance) {
  const PoolShape s = any_pool(random, false);
  const auto x = instance.input(normal(random, static_cast<std::int64_t>(kernels::pool_inputs(s))));
  const auto y = instance.output<float>(static_cast<std::int64_t>(kernels::pool_outputs(s)));
  instance.start = [=](const Stream& stream, Grid g) {
    launch(stream, "average_pooling", kernels::average_pooling_cost(s), g, kernels::average_pooling, s, x.read(), y.write());
  };
  instance.check = [=] {
    std::vector<double> expected(y.initial().size());
    each_share(s, [&](std::size_t in, std::size_t out, double share) { expected[out] += share * x.initial()[in]; });
    expect_close(y.now(), expected, 1e-6);
  };
}

void average_gradient(Random& random, KernelInstance& instance) {
  const PoolShape s = any_pool(random, false);
  const auto dy = instance.input(normal(random, static_cast<std::int64_t>(kernels::pool_outputs(s))));
  const auto dx = instance.output<float>(static_cast<std::int64_t>(kernels::pool_inputs(s)));
  instance.start = [=](const Stream& stream, Grid g) {
    launch(stream, "average_pooling_gradient", kernels::average_pooling_gradient_cost(s), g, kernels::average_pooling_gradient, s,
           dy.read(), dx.write());
  };
  instance.check = [=] {
    std::vector<double> expected(dx.initial().size());
    each_share(s, [&](std::size_t in, std::size_t out, double share) { expected[in] += share * dy.initial()[out]; });
    expect_close(dx.now(), expected, 1e-6);
  };
}

}  // namespace

std::vector<KernelCase> pooling_cases() {
  return {forward_case("max_pooling", kernels::max_pooling, kernels::max_pooling_cost, false),
          forward_case("max_pooling_2x2", kernels::max_pooling_2x2, kernels::max_pooling_2x2_cost, true),
          gradient_case("max_pooling_gradient", kernels::max_pooling_gradient, kernels::max_pooling_gradient_cost, false),
          gradient_case("max_pooling_gradient_2x2", kernels::max_pooling_gradient_2x2, kernels::max_pooling_gradient_2x2_cost, true),
          {"average_pooling", average},
          {"average_pooling_gradient", average_gradient}};
}

}  // namespace lockstep::testing
