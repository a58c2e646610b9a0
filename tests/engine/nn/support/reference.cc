#include "tests/engine/nn/support/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lockstep::test {
namespace {

struct Axis {
  std::int64_t out = 0, before = 0;
};

Axis axis(std::int64_t in, int kernel, int stride, int dilation, bool same) {
  const std::int64_t extent = static_cast<std::int64_t>(dilation) * (kernel - 1) + 1;
  if (!same) return {static_cast<std::int64_t>(std::ceil(static_cast<double>(in - extent + 1) / stride)), 0};
  const auto out = static_cast<std::int64_t>(std::ceil(static_cast<double>(in) / stride));
  return {out, std::max<std::int64_t>(0, (out - 1) * stride + extent - in) / 2};
}

}  // namespace

Doubles doubles(const std::vector<float>& values) { return {values.begin(), values.end()}; }

Doubles conv2d(const Doubles& x, const Shape& images, const Doubles& kernel, int filters, const Doubles& bias, const Window& w) {
  const std::int64_t n = images[0], height = images[1], width = images[2], channels = images[3];
  const Axis rows = axis(height, w.kernel_h, w.stride_h, w.dilation_h, w.same);
  const Axis columns = axis(width, w.kernel_w, w.stride_w, w.dilation_w, w.same);
  Doubles y;
  for (std::int64_t b = 0; b < n; ++b)
    for (std::int64_t i = 0; i < rows.out; ++i)
      for (std::int64_t j = 0; j < columns.out; ++j)
        for (int f = 0; f < filters; ++f) {
          double sum = bias.empty() ? 0 : bias[static_cast<std::size_t>(f)];
          for (int p = 0; p < w.kernel_h; ++p)
            for (int q = 0; q < w.kernel_w; ++q) {
              const std::int64_t r = i * w.stride_h - rows.before + p * w.dilation_h;
              const std::int64_t s = j * w.stride_w - columns.before + q * w.dilation_w;
              if (r < 0 || r >= height || s < 0 || s >= width) continue;
              for (std::int64_t c = 0; c < channels; ++c)
                sum += x[static_cast<std::size_t>(((b * height + r) * width + s) * channels + c)] *
                       kernel[static_cast<std::size_t>(((p * w.kernel_w + q) * channels + c) * filters + f)];
            }
          y.push_back(sum);
        }
  return y;
}

Doubles max_pooling2d(const Doubles& x, const Shape& images, const Window& w) {
  const std::int64_t n = images[0], height = images[1], width = images[2], channels = images[3];
  const Axis rows = axis(height, w.kernel_h, w.stride_h, 1, w.same);
  const Axis columns = axis(width, w.kernel_w, w.stride_w, 1, w.same);
  Doubles y;
  for (std::int64_t b = 0; b < n; ++b)
    for (std::int64_t i = 0; i < rows.out; ++i)
      for (std::int64_t j = 0; j < columns.out; ++j)
        for (std::int64_t c = 0; c < channels; ++c) {
          double largest = -std::numeric_limits<double>::infinity();
          for (int p = 0; p < w.kernel_h; ++p)
            for (int q = 0; q < w.kernel_w; ++q) {
              const std::int64_t r = i * w.stride_h - rows.before + p;
              const std::int64_t s = j * w.stride_w - columns.before + q;
              if (r < 0 || r >= height || s < 0 || s >= width) continue;
              largest = std::max(largest, x[static_cast<std::size_t>(((b * height + r) * width + s) * channels + c)]);
            }
          y.push_back(largest);
        }
  return y;
}

Doubles dense(const Doubles& x, std::int64_t in, const Doubles& kernel, std::int64_t units, const Doubles& bias) {
  Doubles y;
  for (std::size_t row = 0; row < x.size() / static_cast<std::size_t>(in); ++row)
    for (std::int64_t u = 0; u < units; ++u) {
      double sum = bias.empty() ? 0 : bias[static_cast<std::size_t>(u)];
      for (std::int64_t i = 0; i < in; ++i)
        sum += x[row * static_cast<std::size_t>(in) + static_cast<std::size_t>(i)] * kernel[static_cast<std::size_t>(i * units + u)];
      y.push_back(sum);
    }
  return y;
}

Doubles relu(Doubles x) {
  for (double& value : x) value = std::max(value, 0.0);
  return x;
}

Doubles softmax(Doubles x, std::int64_t classes) {
  const auto n = static_cast<std::ptrdiff_t>(classes);
  for (auto row = x.begin(); row != x.end(); row += n) {
    const double largest = *std::max_element(row, row + n);
    double sum = 0;
    std::for_each(row, row + n, [&](double& v) { sum += v = std::exp(v - largest); });
    std::for_each(row, row + n, [&](double& v) { v /= sum; });
  }
  return x;
}

double cross_entropy(const Doubles& logits, std::int64_t classes, const std::vector<std::int32_t>& labels) {
  const Doubles p = softmax(logits, classes);
  double sum = 0;
  for (std::size_t i = 0; i < labels.size(); ++i)
    sum -= std::log(p[i * static_cast<std::size_t>(classes) + static_cast<std::size_t>(labels[i])]);
  return sum / static_cast<double>(labels.size());
}

double slope(const std::function<double(const std::vector<Doubles>&)>& f, std::vector<Doubles>& variables, std::size_t which,
             std::size_t element) {
  constexpr double kStep = 1e-6;
  double& x = variables[which][element];
  const double before = x;
  x = before + kStep;
  const double above = f(variables);
  x = before - kStep;
  const double below = f(variables);
  x = before;
  return (above - below) / (2 * kStep);
}

}  // namespace lockstep::test
