// Windows bitmaps: 1, 4, 8, 16, 24 and 32 bits a pixel, with palettes, masks and run lengths, top down or bottom up.
//
// Layout: a file header of 14 bytes, an information header of 12 (OS/2) or at least 40 bytes, masks, a palette, rows padded to
// four bytes. Size fields of real files are often wrong; only the offset of the pixels is believed, and everything is checked
// against the bytes there are.
#include <algorithm>
#include <array>

#include "engine/data/files/input_file.h"
#include "engine/data/image/image.h"

namespace lockstep {
namespace {

constexpr std::size_t kFileHeader = 14;
enum Compression : std::uint32_t { kPlain = 0, kRle8 = 1, kRle4 = 2, kMasks = 3 };

struct Mask {
  std::uint32_t bits = 0;

  // The masked bits as a number from 0 to 255.
  std::uint8_t of(std::uint32_t pixel) const {
    if (bits == 0) return 0;
    int shift = 0;
    while (((bits >> shift) & 1U) == 0) ++shift;
    const std::uint32_t most = bits >> shift;
    return static_cast<std::uint8_t>(std::uint64_t{(pixel & bits) >> shift} * 255 / most);
  }
};

class Bmp {
 public:
  Bmp(const std::uint8_t* bytes, std::size_t count) : bytes_(bytes), count_(count), file_("BMP", bytes, count) {}

  Image decode() {
    read_headers();
    // Plain rows are there whole or not at all, so nothing is taken for a size the file can't have; runs may stop anywhere.
    check_image_size("BMP", height_, width_);
    if (compression_ == kRle8 || compression_ == kRle4) {
      // Two bytes fill 255 pixels at most: a small file that claims a huge picture costs neither its memory nor its time.
      if (height_ * width_ > 256 * std::uint64_t{count_}) file_.fail("it claims more pixels than its bytes can fill");
      Image image = make_image("BMP", height_, width_);
      fill(image);
      read_runs(image);
      return image;
    }
    const std::uint64_t row_bytes = (width_ * depth_ + 31) / 32 * 4;
    const std::uint64_t last_row = (width_ * depth_ + 7) / 8;  // its padding may be missing
    if (row_bytes * (height_ - 1) + last_row > count_ - pixels_) file_.fail("truncated");
    Image image = make_image("BMP", height_, width_);
    for (std::uint64_t r = 0; r < height_; ++r) read_row(bytes_ + pixels_ + r * row_bytes, row_of(image, r));
    return image;
  }

 private:
  std::uint8_t* row_of(Image& image, std::uint64_t stored) const {
    return image.pixels.data() + (top_down_ ? stored : height_ - 1 - stored) * width_ * 3;
  }

  void read_headers() {
    file_.skip(10);
    pixels_ = little_endian_32(file_.take(4));
    const std::uint32_t header = little_endian_32(file_.take(4));
    if (header == 12) {
      width_ = little_endian_16(file_.take(2));
      height_ = little_endian_16(file_.take(2));
      file_.skip(2);
      depth_ = little_endian_16(file_.take(2));
    } else if (header >= 40 && header <= 1024) {
      const std::uint8_t* fields = file_.take(36);
      const auto width = static_cast<std::int32_t>(little_endian_32(fields));
      const auto height = static_cast<std::int32_t>(little_endian_32(fields + 4));
      if (width < 0) file_.fail("a negative width");
      top_down_ = height < 0;
      width_ = static_cast<std::uint64_t>(width);
      height_ = static_cast<std::uint64_t>(top_down_ ? -std::int64_t{height} : std::int64_t{height});
      depth_ = little_endian_16(fields + 10);
      compression_ = little_endian_32(fields + 12);
      colours_ = little_endian_32(fields + 28);
    } else {
      file_.fail("a header of " + std::to_string(header) + " bytes");
    }
    check_encoding();
    std::size_t palette_at = kFileHeader + header;
    read_masks(header, palette_at);
    if (pixels_ > count_) file_.fail("truncated");
    if (pixels_ < kFileHeader) file_.fail("its pixels are said to lie in the header");
    if (depth_ <= 8) read_palette(palette_at, header == 12 ? 3 : 4);
  }

  void check_encoding() const {
    const bool known_depth = depth_ == 1 || depth_ == 4 || depth_ == 8 || depth_ == 16 || depth_ == 24 || depth_ == 32;
    if (!known_depth) file_.fail(std::to_string(depth_) + " bits a pixel");
    const bool fits = compression_ == kPlain || (compression_ == kRle8 && depth_ == 8) || (compression_ == kRle4 && depth_ == 4) ||
                      (compression_ == kMasks && (depth_ == 16 || depth_ == 32));
    if (!fits) file_.fail("compression " + std::to_string(compression_) + " with " + std::to_string(depth_) + " bits a pixel");
  }

  void read_masks(std::uint32_t header, std::size_t& palette_at) {
    if (depth_ == 16) masks_ = {Mask{0x7c00}, Mask{0x03e0}, Mask{0x001f}};
    if (depth_ == 32) masks_ = {Mask{0xff0000}, Mask{0x00ff00}, Mask{0x0000ff}};
    if (compression_ != kMasks) return;
    for (Mask& mask : masks_) mask.bits = little_endian_32(file_.take(4));  // in newer headers these are the header's own fields
    if (header == 40) palette_at += 12;
  }

  void read_palette(std::size_t at, std::size_t entry_bytes) {
    std::size_t entries = colours_ != 0 ? colours_ : std::size_t{1} << depth_;
    entries = std::min<std::size_t>(entries, 256);
    if (at > count_) file_.fail("truncated");
    entries = std::min(entries, (count_ - at) / entry_bytes);  // missing ones stay black
    for (std::size_t i = 0; i < entries; ++i) {
      const std::uint8_t* bgr = bytes_ + at + i * entry_bytes;
      palette_[i] = {bgr[2], bgr[1], bgr[0]};
    }
  }

  void put(std::uint8_t*& to, std::size_t index) const {
    for (const std::uint8_t channel : palette_[index]) *to++ = channel;
  }

  void read_row(const std::uint8_t* from, std::uint8_t* to) const {
    for (std::uint64_t x = 0; x < width_; ++x) {
      if (depth_ <= 8) {
        const std::uint64_t bit = x * depth_;
        put(to, (from[bit / 8] >> (8 - depth_ - bit % 8)) & ((1U << depth_) - 1U));
      } else if (depth_ == 24) {
        *to++ = from[3 * x + 2];
        *to++ = from[3 * x + 1];
        *to++ = from[3 * x];
      } else {
        const std::uint32_t pixel = depth_ == 16 ? little_endian_16(from + 2 * x) : little_endian_32(from + 4 * x);
        for (const Mask& mask : masks_) *to++ = mask.of(pixel);
      }
    }
  }

  void fill(Image& image) const {
    for (std::size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = palette_[0][i % 3];
  }

  // Pairs (count, colour); a count of 0 begins an escape: end of line, end of picture, a jump, or that many pixels as they are.
  void read_runs(Image& image) {
    ImageBytes runs("BMP", bytes_ + pixels_, count_ - pixels_);
    std::uint64_t x = 0, y = 0;
    const auto set = [&](std::size_t index) {
      if (x >= width_ || y >= height_) runs.fail("a run of pixels leaves the picture");
      std::uint8_t* to = row_of(image, y) + 3 * x++;
      put(to, index);
    };
    const auto index_in = [&](std::uint8_t byte, int i) -> std::size_t {
      return compression_ == kRle8 ? byte : (i % 2 == 0 ? byte >> 4 : byte & 15);
    };
    while (true) {
      const int count = runs.u8();
      const int value = runs.u8();
      if (count > 0) {
        for (int i = 0; i < count; ++i) set(index_in(static_cast<std::uint8_t>(value), i));
      } else if (value == 0) {
        x = 0, ++y;
      } else if (value == 1) {
        return;
      } else if (value == 2) {
        x += runs.u8();
        y += runs.u8();
      } else {
        const int bytes = compression_ == kRle8 ? value : (value + 1) / 2;
        const std::uint8_t* from = runs.take(static_cast<std::size_t>(bytes));
        for (int i = 0; i < value; ++i) set(index_in(from[compression_ == kRle8 ? i : i / 2], i));
        if (bytes % 2 != 0) runs.skip(1);
      }
    }
  }

  const std::uint8_t* bytes_;
  std::size_t count_;
  ImageBytes file_;
  std::uint64_t width_ = 0, height_ = 0;
  std::uint32_t depth_ = 0, compression_ = kPlain, colours_ = 0;
  std::size_t pixels_ = 0;
  bool top_down_ = false;
  std::array<Mask, 3> masks_{};
  std::array<std::array<std::uint8_t, 3>, 256> palette_{};
};

}  // namespace

Image decode_bmp(const std::uint8_t* bytes, std::size_t count) { return Bmp(bytes, count).decode(); }

}  // namespace lockstep
