#include "engine/nn/window_layer.h"

namespace lockstep {
namespace {

std::int64_t dilated(std::int64_t size, std::int64_t dilation) { return dilation * (size - 1) + 1; }

}  // namespace

WindowAxis WindowLayerImpl::rows(std::int64_t height) const {
  return slide(height, dilated(window.height, dilation.height), strides.height, padding);
}

WindowAxis WindowLayerImpl::columns(std::int64_t width) const {
  return slide(width, dilated(window.width, dilation.width), strides.width, padding);
}

void WindowLayerImpl::require_positive(const char* options) const {
  for (const Extent2D& extent : {window, strides, dilation})
    if (extent.height <= 0 || extent.width <= 0) refuse_options(std::string(options) + " must be positive");
}

Shape WindowLayerImpl::places(const Shape& image, const char* window_name, const char* example) const {
  if (image.rank() != 3 || image.size() <= 0) refuse(image, std::string("images: (height, width, channels), such as ") + example);
  const Shape found{rows(image[0]).out, columns(image[1]).out};
  if (found[0] <= 0 || found[1] <= 0)
    refuse(image, std::string("images at least as large as its ") + window_name + ", " +
                      std::to_string(dilated(window.height, dilation.height)) + " x " +
                      std::to_string(dilated(window.width, dilation.width)) + ", or padding(\"same\")");
  return found;
}

void WindowLayerImpl::slide_over(const Shape& images, ops::WindowSpec& spec, const ZeroBorder& border) const {
  spec.batch = images[0], spec.height = images[1], spec.width = images[2];
  spec.kernel_h = window.height, spec.kernel_w = window.width;
  spec.stride_h = strides.height, spec.stride_w = strides.width;
  spec.dilation_h = dilation.height, spec.dilation_w = dilation.width;
  const WindowAxis vertical = rows(spec.height + border.top + border.bottom);
  const WindowAxis horizontal = columns(spec.width + border.left + border.right);
  spec.pad_top = border.top + vertical.before, spec.pad_bottom = border.bottom + vertical.after;
  spec.pad_left = border.left + horizontal.before, spec.pad_right = border.right + horizontal.after;
}

}  // namespace lockstep
