// A window that slides over a batch of NHWC images: what convolutions and poolings have in common.
#pragma once

#include <cstdint>

namespace lockstep::ops {

struct WindowSpec {
  std::int64_t batch = 0, height = 0, width = 0;
  std::int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  std::int64_t pad_top = 0, pad_bottom = 0, pad_left = 0, pad_right = 0;

  std::int64_t out_height() const { return (height + pad_top + pad_bottom - dilation_h * (kernel_h - 1) - 1) / stride_h + 1; }
  std::int64_t out_width() const { return (width + pad_left + pad_right - dilation_w * (kernel_w - 1) - 1) / stride_w + 1; }
  std::int64_t pixels() const { return batch * height * width; }  // of all images together
  std::int64_t out_pixels() const { return batch * out_height() * out_width(); }
  bool padded() const { return pad_top != 0 || pad_bottom != 0 || pad_left != 0 || pad_right != 0; }
};

}  // namespace lockstep::ops
