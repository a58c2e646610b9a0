// A layer whose window slides over images: the 2-D convolutions and poolings.
#pragma once

#include "engine/nn/layer.h"
#include "engine/nn/window.h"
#include "engine/ops/window_spec.h"
#include "lockstep/layers.h"

namespace lockstep {

class WindowLayerImpl : public LayerImpl {
 public:
  WindowLayerImpl(Extent2D size, Extent2D step) : window(size), strides(step) {}

  Extent2D window;  // Keras' kernel_size or pool_size
  Extent2D strides;
  Extent2D dilation = 1;
  Padding padding = Padding::valid;

 protected:
  void require_positive(const char* options) const;  // by Keras' names, for the Error
  // Rows and columns of places for the window on one image; an Error where it has none, or where this is no image.
  Shape places(const Shape& image, const char* window_name, const char* example) const;
  // Fills in the images, (batch, height, width, channels), and the window on them.
  void slide_over(const Shape& images, ops::WindowSpec& spec, const ZeroBorder& border = {}) const;

 private:
  WindowAxis rows(std::int64_t height) const;
  WindowAxis columns(std::int64_t width) const;
};

}  // namespace lockstep
