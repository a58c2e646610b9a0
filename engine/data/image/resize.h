// TensorFlow's tf.image.resize(method="bilinear", antialias=False).
#pragma once

#include <cstdint>

#include "engine/data/image/image.h"

namespace lockstep {

// `to` has room for height x width x 3 floats, which stay within 0 ... 255. Pixel centres lie at halves: output i looks at input (i + 0.5)
// * in / out - 0.5, between the two pixels around it, and at the border at the border's pixel.
void resize_bilinear(const Image& image, int height, int width, float* to);

}  // namespace lockstep
