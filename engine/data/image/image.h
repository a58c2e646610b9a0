// Pictures in memory, and the one way files become pictures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/error.h"

namespace lockstep {

// Rows from top to bottom, three bytes a pixel: red, green, blue.
struct Image {
  int height = 0;
  int width = 0;
  std::vector<std::uint8_t> pixels;
};

enum class ImageFormat { jpeg, png, gif, bmp, unknown };
const char* to_string(ImageFormat format);  // "JPEG", ..., "unknown"

// By the first bytes; names lie.
ImageFormat image_format(const std::uint8_t* bytes, std::size_t count);

// What these bytes show, as tf.io.decode_image(channels=3, expand_animations=False) has it: grey becomes three equal channels, CMYK is
// converted, transparency and Exif's orientation are ignored, an animation gives its first frame. Bytes may be anything: what can't be
// decoded is an Error whose sentence says why, and sizes claimed are checked before memory is taken for them. Any number of threads may
// call it.
Image decode_image(const std::uint8_t* bytes, std::size_t count);
inline Image decode_image(const std::vector<std::uint8_t>& bytes) { return decode_image(bytes.data(), bytes.size()); }

// The decoders behind it; each expects its own format.
Image decode_jpeg(const std::uint8_t* bytes, std::size_t count);
Image decode_png(const std::uint8_t* bytes, std::size_t count);
Image decode_gif(const std::uint8_t* bytes, std::size_t count);
Image decode_bmp(const std::uint8_t* bytes, std::size_t count);

// A black picture of that size; an Error where an extent is 0 or the whole is larger than anything we want to hold (64 Mi pixels).
Image make_image(const char* format, std::uint64_t height, std::uint64_t width);
// The same check without the memory.
void check_image_size(const char* format, std::uint64_t height, std::uint64_t width);

// Reads forward through bytes; past the end is an Error: "a truncated PNG".
class ImageBytes {
 public:
  ImageBytes(const char* format, const std::uint8_t* bytes, std::size_t count) : format_(format), at_(bytes), left_(count) {}

  std::size_t left() const { return left_; }
  const std::uint8_t* take(std::size_t count) {
    if (count > left_) fail("truncated");
    const std::uint8_t* taken = at_;
    at_ += count;
    left_ -= count;
    return taken;
  }
  void skip(std::size_t count) { take(count); }
  std::uint8_t u8() { return *take(1); }
  [[noreturn]] void fail(const std::string& what) const { throw Error("a damaged " + std::string(format_) + ": " + what); }

 private:
  const char* format_;
  const std::uint8_t* at_;
  std::size_t left_;
};

}  // namespace lockstep
