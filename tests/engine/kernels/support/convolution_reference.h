// Convolution by its definition, in double: seven loops and no cleverness.
#pragma once

#include <vector>

#include "engine/kernels/convolution_kernels.h"

namespace lockstep::testing {

// Calls f(index in x, index in filter, index in y) for every product of the convolution.
template <typename Function>
void each_product(const kernels::ConvShape& s, Function f) {
  for (int n = 0; n < s.batch; ++n) {
    for (int oy = 0; oy < s.out_height; ++oy) {
      for (int ox = 0; ox < s.out_width; ++ox) {
        for (int r = 0; r < s.kernel_h; ++r) {
          for (int q = 0; q < s.kernel_w; ++q) {
            const int iy = oy * s.stride_h + r * s.dilation_h - s.pad_top;
            const int ix = ox * s.stride_w + q * s.dilation_w - s.pad_left;
            if (iy < 0 || iy >= s.height || ix < 0 || ix >= s.width) continue;
            for (int c = 0; c < s.in_channels; ++c) {
              for (int k = 0; k < s.out_channels; ++k) {
                f(static_cast<std::size_t>(((n * s.height + iy) * s.width + ix) * s.in_channels + c),
                  static_cast<std::size_t>(((r * s.kernel_w + q) * s.in_channels + c) * s.out_channels + k),
                  static_cast<std::size_t>(((n * s.out_height + oy) * s.out_width + ox) * s.out_channels + k));
              }
            }
          }
        }
      }
    }
  }
}

inline std::size_t image_size(const kernels::ConvShape& s) {
  return static_cast<std::size_t>(s.batch * s.height * s.width * s.in_channels);
}
inline std::size_t filter_size(const kernels::ConvShape& s) {
  return static_cast<std::size_t>(s.kernel_h * s.kernel_w * s.in_channels * s.out_channels);
}
inline std::size_t output_size(const kernels::ConvShape& s) {
  return static_cast<std::size_t>(s.batch * s.out_height * s.out_width * s.out_channels);
}

inline std::vector<double> reference_forward(const kernels::ConvShape& s, const std::vector<float>& x, const std::vector<float>& filter) {
  std::vector<double> y(output_size(s));
  each_product(s, [&](std::size_t i, std::size_t f, std::size_t o) { y[o] += static_cast<double>(x[i]) * filter[f]; });
  return y;
}
inline std::vector<double> reference_backward_data(const kernels::ConvShape& s, const std::vector<float>& dy,
                                                   const std::vector<float>& filter) {
  std::vector<double> dx(image_size(s));
  each_product(s, [&](std::size_t i, std::size_t f, std::size_t o) { dx[i] += static_cast<double>(dy[o]) * filter[f]; });
  return dx;
}
inline std::vector<double> reference_backward_filter(const kernels::ConvShape& s, const std::vector<float>& x,
                                                     const std::vector<float>& dy) {
  std::vector<double> dfilter(filter_size(s));
  each_product(s, [&](std::size_t i, std::size_t f, std::size_t o) { dfilter[f] += static_cast<double>(x[i]) * dy[o]; });
  return dfilter;
}

}  // namespace lockstep::testing
