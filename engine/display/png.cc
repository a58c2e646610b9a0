#include "engine/display/png.h"

#include <zlib.h>

#include "lockstep/error.h"

namespace lockstep {
namespace {

void append_number(std::string& out, std::uint32_t number) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(number >> shift & 0xFF);
}

void append_chunk(std::string& out, const std::string& type, const std::string& data) {
  append_number(out, static_cast<std::uint32_t>(data.size()));
  const std::string body = type + data;
  out += body;
  append_number(out, static_cast<std::uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()))));
}

}  // namespace

std::string png(const std::vector<std::uint8_t>& pixels, int height, int width, int channels) {
  const std::size_t row = static_cast<std::size_t>(width) * static_cast<std::size_t>(channels);
  if (pixels.size() != row * static_cast<std::size_t>(height) || (channels != 1 && channels != 3))
    throw Error("png: a picture has 1 or 3 channels");
  std::string raw;
  for (int y = 0; y < height; ++y) {
    raw += '\0';  // no filter
    raw.append(reinterpret_cast<const char*>(pixels.data()) + static_cast<std::size_t>(y) * row, row);
  }
  uLongf size = compressBound(static_cast<uLong>(raw.size()));
  std::string packed(size, '\0');
  if (compress(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(raw.data()),
               static_cast<uLong>(raw.size())) != Z_OK)
    throw Error("png: a picture could not be packed");
  packed.resize(size);
  std::string header;
  append_number(header, static_cast<std::uint32_t>(width));
  append_number(header, static_cast<std::uint32_t>(height));
  header += '\x08';
  header += channels == 3 ? '\x02' : '\0';
  header.append(3, '\0');
  std::string file = "\x89PNG\r\n\x1a\n";
  append_chunk(file, "IHDR", header);
  append_chunk(file, "IDAT", packed);
  append_chunk(file, "IEND", "");
  return file;
}

std::string base64(const std::string& bytes) {
  static const char* const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t three = 0;
    for (std::size_t k = 0; k < 3; ++k) three = three << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k) out += i + k <= bytes.size() ? digits[three >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

}  // namespace lockstep
