// load_image: one picture for a model.
#include <algorithm>

#include "engine/data/image/image_file.h"
#include "engine/data/image/resize.h"
#include "lockstep/images.h"

namespace lockstep {
namespace {

// ITU-R BT.601, in the whole numbers Pillow's convert("L") uses, which is what Keras' load_img(color_mode="grayscale") calls.
std::uint8_t luma(const std::uint8_t* rgb) {
  return static_cast<std::uint8_t>((19595 * rgb[0] + 38470 * rgb[1] + 7471 * rgb[2] + 0x8000) >> 16);
}

}  // namespace

Array load_image(const std::string& path, int height, int width, int channels) {
  if (height < 1 || width < 1) throw Error("load_image: height and width must be at least 1");
  if (channels != 1 && channels != 3)
    throw Error("load_image: a picture has 1 channel (grey) or 3 (red, green, blue), not " + std::to_string(channels));
  Image image = read_image(path);
  if (channels == 1) {
    for (std::size_t i = 0; i < image.pixels.size(); i += 3) std::fill_n(&image.pixels[i], 3, luma(&image.pixels[i]));
  }
  Array resized(Shape{height, width, 3});
  resize_bilinear(image, height, width, resized.data<float>());
  if (channels == 3) return resized;
  Array grey(Shape{height, width, 1});
  for (std::int64_t i = 0; i < grey.size(); ++i) grey.data<float>()[i] = resized.data<float>()[3 * i];
  return grey;
}

}  // namespace lockstep
