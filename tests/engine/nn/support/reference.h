// Layers as nested loops in double: what the engine's results are held against. Gradients come from central differences.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "lockstep/shape.h"

namespace lockstep::test {

using Doubles = std::vector<double>;

Doubles doubles(const std::vector<float>& values);

struct Window {  // one axis pair of a convolution or a pool
  int kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  bool same = false;
};

// x (n, h, w, c), kernel (kh, kw, c, f), bias (f) or empty. Padding counted from TensorFlow's definition, not from the engine.
Doubles conv2d(const Doubles& x, const Shape& images, const Doubles& kernel, int filters, const Doubles& bias, const Window& window);
Doubles max_pooling2d(const Doubles& x, const Shape& images, const Window& window);
Doubles dense(const Doubles& x, std::int64_t in, const Doubles& kernel, std::int64_t units, const Doubles& bias);
Doubles relu(Doubles x);
Doubles softmax(Doubles x, std::int64_t classes);
double cross_entropy(const Doubles& logits, std::int64_t classes, const std::vector<std::int32_t>& labels);  // mean over rows

// df / dvariables[which][element].
double slope(const std::function<double(const std::vector<Doubles>&)>& f, std::vector<Doubles>& variables, std::size_t which,
             std::size_t element);

}  // namespace lockstep::test
