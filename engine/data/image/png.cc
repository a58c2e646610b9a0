// PNG (ISO/IEC 15948): all colour types and depths, interlaced or not. Of 16-bit samples the high byte is kept and transparency is
// dropped, as TensorFlow does.
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>

#include "engine/data/files/inflater.h"
#include "engine/data/files/input_file.h"
#include "engine/data/image/image.h"

namespace lockstep {
namespace {

struct Pass {
  std::uint32_t first_row, first_column, row_step, column_step;
};
constexpr Pass kWhole[] = {{0, 0, 1, 1}};
constexpr Pass kAdam7[] = {{0, 0, 8, 8}, {0, 4, 8, 8}, {4, 0, 8, 4}, {0, 2, 4, 4}, {2, 0, 4, 2}, {0, 1, 2, 2}, {1, 0, 2, 1}};

std::uint8_t paeth(int left, int above, int corner) {
  const int guess = left + above - corner;
  const int a = std::abs(guess - left), b = std::abs(guess - above), c = std::abs(guess - corner);
  return static_cast<std::uint8_t>(a <= b && a <= c ? left : (b <= c ? above : corner));
}

class Png {
 public:
  Png(const std::uint8_t* bytes, std::size_t count) : file_("PNG", bytes, count) {}

  Image decode() {
    file_.skip(8);
    read_chunks();
    if (colour_ == kPalette && !has_palette_) file_.fail("its palette is missing");
    const std::uint64_t raw = raw_bytes();
    if (raw > Inflater::largest_output(compressed_.size())) file_.fail("too few compressed bytes for the size it claims");
    inflate_all(raw);
    Image image = make_image("PNG", height_, width_);
    std::uint8_t* at = raw_.data();
    for (const Pass& pass : passes()) {
      const std::uint32_t rows = extent(height_, pass.first_row, pass.row_step);
      const std::uint32_t columns = extent(width_, pass.first_column, pass.column_step);
      if (rows == 0 || columns == 0) continue;
      const std::size_t row_bytes = bytes_in(columns);
      unfilter(at, rows, row_bytes);
      for (std::uint32_t r = 0; r < rows; ++r, at += row_bytes + 1) place(at + 1, pass, r, columns, image);
    }
    return image;
  }

 private:
  enum Colour { kGrey = 0, kRgb = 2, kPalette = 3, kGreyAlpha = 4, kRgba = 6 };

  struct Passes {
    const Pass *first, *last;
    const Pass* begin() const { return first; }
    const Pass* end() const { return last; }
  };
  Passes passes() const {
    return interlaced_ ? Passes{std::begin(kAdam7), std::end(kAdam7)} : Passes{std::begin(kWhole), std::end(kWhole)};
  }
  static std::uint32_t extent(std::uint32_t whole, std::uint32_t first, std::uint32_t step) {
    return whole > first ? (whole - first + step - 1) / step : 0;
  }
  std::size_t bytes_in(std::uint32_t columns) const { return (std::size_t{columns} * channels_ * depth_ + 7) / 8; }

  std::uint64_t raw_bytes() const {
    std::uint64_t sum = 0;
    for (const Pass& pass : passes()) {
      const std::uint32_t rows = extent(height_, pass.first_row, pass.row_step);
      const std::uint32_t columns = extent(width_, pass.first_column, pass.column_step);
      if (rows > 0 && columns > 0) sum += std::uint64_t{rows} * (bytes_in(columns) + 1);
    }
    return sum;
  }

  void read_chunks() {
    bool begun = false;
    while (true) {
      const std::uint32_t length = big_endian_32(file_.take(4));
      const std::string type(reinterpret_cast<const char*>(file_.take(4)), 4);
      if (length > file_.left() || file_.left() - length < 4) file_.fail("truncated");
      const std::uint8_t* data = file_.take(length);
      const std::uint32_t stored = big_endian_32(file_.take(4));
      if (!begun && type != "IHDR") file_.fail("it does not begin with its header");
      const bool critical = (static_cast<unsigned char>(type[0]) & 32U) == 0;
      if (critical && checksum(type, data, length) != stored) file_.fail("the checksum of its " + type + " is wrong");
      if (type == "IHDR") {
        if (begun || length != 13) file_.fail("its header is wrong");
        begun = true;
        read_header(data);
      } else if (type == "PLTE") {
        if (length % 3 != 0 || length > 768) file_.fail("its palette is wrong");
        for (std::size_t i = 0; i < length / 3; ++i) palette_[i] = {data[3 * i], data[3 * i + 1], data[3 * i + 2]};
        has_palette_ = true;
      } else if (type == "IDAT") {
        compressed_.insert(compressed_.end(), data, data + length);
      } else if (type == "IEND") {
        return;
      } else if (critical) {
        file_.fail("a chunk of unknown kind");
      }
    }
  }

  static std::uint32_t checksum(const std::string& type, const std::uint8_t* data, std::uint32_t length) {
    uLong sum = crc32(0, reinterpret_cast<const Bytef*>(type.data()), 4);
    if (length > 0) sum = crc32(sum, data, length);  // without data zlib returns the start value
    return static_cast<std::uint32_t>(sum);
  }

  void read_header(const std::uint8_t* data) {
    width_ = big_endian_32(data);
    height_ = big_endian_32(data + 4);
    check_image_size("PNG", height_, width_);
    depth_ = data[8];
    colour_ = data[9];
    const bool small = depth_ == 1 || depth_ == 2 || depth_ == 4;
    const bool deep = depth_ == 16;
    if (!small && !deep && depth_ != 8) file_.fail(std::to_string(depth_) + " bits a sample");
    switch (colour_) {
      case kGrey:
        channels_ = 1;
        break;
      case kPalette:
        channels_ = 1;
        if (deep) file_.fail("a palette with 16 bits");
        break;
      case kRgb:
      case kGreyAlpha:
      case kRgba:
        channels_ = colour_ == kRgb ? 3 : colour_ == kRgba ? 4 : 2;
        if (small) file_.fail("colours with " + std::to_string(depth_) + " bits a sample");
        break;
      default:
        file_.fail("colour type " + std::to_string(colour_));
    }
    if (data[10] != 0 || data[11] != 0 || data[12] > 1) file_.fail("an unknown compression, filter or interlacing");
    interlaced_ = data[12] == 1;
  }

  void inflate_all(std::uint64_t bytes) {
    raw_.resize(static_cast<std::size_t>(bytes));
    z_stream stream{};
    if (inflateInit(&stream) != Z_OK) file_.fail("zlib could not be started");
    stream.next_in = compressed_.data();
    stream.avail_in = static_cast<uInt>(std::min<std::size_t>(compressed_.size(), std::numeric_limits<uInt>::max()));
    stream.next_out = raw_.data();
    stream.avail_out = static_cast<uInt>(bytes);  // at most 64 Mi pixels of 8 bytes, and a byte a row: below 2^32
    const int status = inflate(&stream, Z_FINISH);
    const bool all = stream.avail_out == 0;
    inflateEnd(&stream);
    if (status == Z_DATA_ERROR || status == Z_NEED_DICT || status == Z_MEM_ERROR) file_.fail("its compressed data are wrong");
    if (!all) file_.fail("truncated");
  }

  void unfilter(std::uint8_t* rows, std::uint32_t count, std::size_t row_bytes) const {
    const std::size_t back = std::max<std::size_t>(1, channels_ * depth_ / 8);
    for (std::uint32_t r = 0; r < count; ++r) {
      std::uint8_t* row = rows + r * (row_bytes + 1);
      const std::uint8_t* above = r > 0 ? row - row_bytes - 1 : nullptr;
      const int filter = *row;
      if (filter > 4) file_.fail("a row with an unknown filter");
      for (std::size_t i = 1; i <= row_bytes; ++i) {
        const int left = i > back ? row[i - back] : 0;
        const int up = above ? above[i] : 0;
        const int corner = above && i > back ? above[i - back] : 0;
        switch (filter) {
          case 1:
            row[i] = static_cast<std::uint8_t>(row[i] + left);
            break;
          case 2:
            row[i] = static_cast<std::uint8_t>(row[i] + up);
            break;
          case 3:
            row[i] = static_cast<std::uint8_t>(row[i] + (left + up) / 2);
            break;
          case 4:
            row[i] = static_cast<std::uint8_t>(row[i] + paeth(left, up, corner));
            break;
          default:
            break;
        }
      }
    }
  }

  // Sample k of a row, as it is stored (of 16 bits the high byte).
  std::uint8_t sample(const std::uint8_t* row, std::size_t k) const {
    if (depth_ == 8) return row[k];
    if (depth_ == 16) return row[2 * k];
    const std::size_t bit = k * depth_;
    return static_cast<std::uint8_t>((row[bit / 8] >> (8 - depth_ - bit % 8)) & ((1U << depth_) - 1U));
  }

  void place(const std::uint8_t* row, const Pass& pass, std::uint32_t r, std::uint32_t columns, Image& image) const {
    const std::size_t y = pass.first_row + std::size_t{r} * pass.row_step;
    for (std::uint32_t c = 0; c < columns; ++c) {
      const std::size_t x = pass.first_column + std::size_t{c} * pass.column_step;
      std::uint8_t* to = image.pixels.data() + (y * width_ + x) * 3;
      const std::size_t k = std::size_t{c} * channels_;
      if (colour_ == kPalette) {
        std::memcpy(to, palette_[sample(row, k)].data(), 3);
      } else if (channels_ <= 2) {
        const unsigned most = depth_ < 8 ? (1U << depth_) - 1U : 255U;
        std::memset(to, static_cast<int>(sample(row, k) * 255U / most), 3);
      } else {
        for (std::size_t i = 0; i < 3; ++i) to[i] = sample(row, k + i);
      }
    }
  }

  ImageBytes file_;
  std::uint32_t width_ = 0, height_ = 0;
  std::size_t depth_ = 8, channels_ = 3;
  int colour_ = kRgb;
  bool interlaced_ = false, has_palette_ = false;
  std::array<std::array<std::uint8_t, 3>, 256> palette_{};
  std::vector<std::uint8_t> compressed_, raw_;
};

}  // namespace

Image decode_png(const std::uint8_t* bytes, std::size_t count) { return Png(bytes, count).decode(); }

}  // namespace lockstep
