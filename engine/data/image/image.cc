#include "engine/data/image/image.h"

#include <cstring>

namespace lockstep {
namespace {

constexpr std::uint64_t kMostPixels = std::uint64_t{1} << 26;

bool begins_with(const std::uint8_t* bytes, std::size_t count, const char* magic, std::size_t length) {
  return count >= length && std::memcmp(bytes, magic, length) == 0;
}

}  // namespace

const char* to_string(ImageFormat format) {
  switch (format) {
    case ImageFormat::jpeg:
      return "JPEG";
    case ImageFormat::png:
      return "PNG";
    case ImageFormat::gif:
      return "GIF";
    case ImageFormat::bmp:
      return "BMP";
    default:
      return "unknown";
  }
}

ImageFormat image_format(const std::uint8_t* bytes, std::size_t count) {
  if (begins_with(bytes, count, "\xff\xd8\xff", 3)) return ImageFormat::jpeg;
  if (begins_with(bytes, count, "\x89PNG\r\n\x1a\n", 8)) return ImageFormat::png;
  if (begins_with(bytes, count, "GIF87a", 6) || begins_with(bytes, count, "GIF89a", 6)) return ImageFormat::gif;
  if (begins_with(bytes, count, "BM", 2)) return ImageFormat::bmp;
  return ImageFormat::unknown;
}

void check_image_size(const char* format, std::uint64_t height, std::uint64_t width) {
  if (height == 0 || width == 0) throw Error(std::string("a ") + format + " without pixels");
  if (height > kMostPixels || width > kMostPixels / height)
    throw Error(std::string("a ") + format + " that claims " + std::to_string(width) + " x " + std::to_string(height) +
                " pixels; more than 64 Mi are not read");
}

Image make_image(const char* format, std::uint64_t height, std::uint64_t width) {
  check_image_size(format, height, width);
  Image image;
  image.height = static_cast<int>(height);
  image.width = static_cast<int>(width);
  image.pixels.resize(static_cast<std::size_t>(3 * height * width));
  return image;
}

Image decode_image(const std::uint8_t* bytes, std::size_t count) {
  switch (image_format(bytes, count)) {
    case ImageFormat::jpeg:
      return decode_jpeg(bytes, count);
    case ImageFormat::png:
      return decode_png(bytes, count);
    case ImageFormat::gif:
      return decode_gif(bytes, count);
    case ImageFormat::bmp:
      return decode_bmp(bytes, count);
    default:
      throw Error(count == 0 ? "an empty file" : "neither JPEG nor PNG, GIF or BMP");
  }
}

}  // namespace lockstep
