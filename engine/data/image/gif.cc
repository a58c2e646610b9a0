// The first frame of a GIF: its LZW codes (T. Welch, "A technique for high-performance data compression", 1984), its palette, and its
// place on the canvas, which is black around it.
#include <algorithm>
#include <array>

#include "engine/data/files/input_file.h"
#include "engine/data/image/image.h"

namespace lockstep {
namespace {

using Palette = std::array<std::array<std::uint8_t, 3>, 256>;

// Codes of growing length, low bits first, in blocks of at most 255 bytes.
class CodeReader {
 public:
  explicit CodeReader(ImageBytes& file) : file_(file) {}

  int next(int bits) {
    while (held_ < bits) {
      if (block_ == 0) {
        block_ = file_.u8();
        if (block_ == 0) file_.fail("truncated");
      }
      --block_;
      buffer_ |= std::uint32_t{file_.u8()} << held_;
      held_ += 8;
    }
    const int code = static_cast<int>(buffer_ & ((1U << bits) - 1U));
    buffer_ >>= bits;
    held_ -= bits;
    return code;
  }

 private:
  ImageBytes& file_;
  std::uint32_t buffer_ = 0;
  int held_ = 0;
  int block_ = 0;
};

// Colour numbers of `count` pixels. Each code stands for an earlier string and one colour more.
std::vector<std::uint8_t> read_colours(ImageBytes& file, std::size_t count) {
  constexpr int kMostCodes = 4096;
  const int first_bits = file.u8();
  if (first_bits < 1 || first_bits > 11) file.fail("codes of " + std::to_string(first_bits) + " bits");
  const int clear = 1 << first_bits;
  const int end = clear + 1;
  std::array<std::int16_t, kMostCodes> prefix{};
  std::array<std::uint8_t, kMostCodes> last{};
  std::array<std::uint8_t, kMostCodes> string{};
  std::vector<std::uint8_t> colours;
  CodeReader reader(file);
  int bits = first_bits + 1, known = end + 1, previous = -1;
  std::uint8_t first = 0;
  while (colours.size() < count) {
    int code = reader.next(bits);
    if (code == clear) {
      bits = first_bits + 1, known = end + 1, previous = -1;
      continue;
    }
    if (code == end) break;
    if (code > known || (code == known && previous < 0) || (previous < 0 && code >= clear)) file.fail("a code that was not defined");
    const int whole = code;
    std::size_t length = 0;
    if (code == known) {  // not there yet: the previous string and its own first colour
      string[length++] = first;
      code = previous;
    }
    while (code > end) {
      string[length++] = last[static_cast<std::size_t>(code)];
      code = prefix[static_cast<std::size_t>(code)];
    }
    first = static_cast<std::uint8_t>(code);
    string[length++] = first;
    while (length > 0 && colours.size() < count) colours.push_back(string[--length]);
    if (previous >= 0 && known < kMostCodes) {
      prefix[static_cast<std::size_t>(known)] = static_cast<std::int16_t>(previous);
      last[static_cast<std::size_t>(known)] = first;
      ++known;
      if (known == 1 << bits && bits < 12) ++bits;
    }
    previous = whole;
  }
  if (colours.size() < count) file.fail("truncated");
  return colours;
}

void read_palette(ImageBytes& file, int size_field, Palette& palette) {
  const std::size_t entries = std::size_t{2} << size_field;
  const std::uint8_t* rgb = file.take(3 * entries);
  for (std::size_t i = 0; i < entries; ++i) palette[i] = {rgb[3 * i], rgb[3 * i + 1], rgb[3 * i + 2]};
}

void skip_blocks(ImageBytes& file) {
  while (const std::uint8_t bytes = file.u8()) file.skip(bytes);
}

// The row of the picture that the file holds at place `stored`: interlaced files hold every 8th row, the 4th between them, and so on.
std::vector<int> row_order(int rows, bool interlaced) {
  std::vector<int> order;
  if (!interlaced) {
    for (int r = 0; r < rows; ++r) order.push_back(r);
    return order;
  }
  constexpr int kFirst[] = {0, 4, 2, 1};
  constexpr int kStep[] = {8, 8, 4, 2};
  for (int pass = 0; pass < 4; ++pass)
    for (int r = kFirst[pass]; r < rows; r += kStep[pass]) order.push_back(r);
  return order;
}

Image read_frame(ImageBytes& file, int canvas_height, int canvas_width, Palette palette) {
  const std::uint8_t* place = file.take(9);
  const int left = little_endian_16(place), top = little_endian_16(place + 2);
  const int width = little_endian_16(place + 4), height = little_endian_16(place + 6);
  const int flags = place[8];
  if (flags & 0x80) read_palette(file, flags & 7, palette);
  check_image_size("GIF", static_cast<std::uint64_t>(height), static_cast<std::uint64_t>(width));
  if (left + width > canvas_width || top + height > canvas_height) file.fail("its first frame leaves the canvas");
  const auto columns = static_cast<std::size_t>(width);
  const std::vector<std::uint8_t> colours = read_colours(file, columns * static_cast<std::size_t>(height));
  Image image = make_image("GIF", static_cast<std::uint64_t>(canvas_height), static_cast<std::uint64_t>(canvas_width));
  const std::uint8_t* from = colours.data();
  for (const int row : row_order(height, (flags & 0x40) != 0)) {
    std::uint8_t* to = image.pixels.data() +
                       (static_cast<std::size_t>(top + row) * static_cast<std::size_t>(canvas_width) + static_cast<std::size_t>(left)) * 3;
    for (std::size_t x = 0; x < columns; ++x)
      for (const std::uint8_t channel : palette[*(from + x)]) *to++ = channel;
    from += columns;
  }
  return image;
}

}  // namespace

Image decode_gif(const std::uint8_t* bytes, std::size_t count) {
  ImageBytes file("GIF", bytes, count);
  file.skip(6);
  const std::uint8_t* screen = file.take(7);
  const int width = little_endian_16(screen), height = little_endian_16(screen + 2);
  check_image_size("GIF", static_cast<std::uint64_t>(height), static_cast<std::uint64_t>(width));
  Palette palette{};
  if (screen[4] & 0x80) read_palette(file, screen[4] & 7, palette);
  while (true) {
    switch (file.u8()) {
      case 0x21:  // an extension: transparency, comments, loops
        file.skip(1);
        skip_blocks(file);
        break;
      case 0x2c:
        return read_frame(file, height, width, palette);
      case 0x3b:
        file.fail("it has no frame");
      default:
        file.fail("a block of unknown kind");
    }
  }
}

}  // namespace lockstep
