#include "engine/data/files/npy.h"

#include <string_view>

#include "engine/data/files/input_file.h"
#include "engine/data/files/npy_header.h"
#include "engine/data/files/pickle.h"

namespace lockstep {
namespace {

constexpr std::size_t kPreamble = 8;  // the magic string and the version

void append_utf8(std::string& text, std::uint32_t c) {
  const auto push = [&text](std::uint32_t byte) { text += static_cast<char>(byte); };
  if (c < 0x80) {
    push(c);
  } else if (c < 0x800) {
    push(0xc0 | (c >> 6));
    push(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    push(0xe0 | (c >> 12));
    push(0x80 | ((c >> 6) & 0x3f));
    push(0x80 | (c & 0x3f));
  } else {
    push(0xf0 | (c >> 18));
    push(0x80 | ((c >> 12) & 0x3f));
    push(0x80 | ((c >> 6) & 0x3f));
    push(0x80 | (c & 0x3f));
  }
}

struct Opened {
  NpyHeader header;
  std::string_view data;
};

Opened open_npy(const std::string& name, const std::vector<unsigned char>& contents, bool objects) {
  const auto fail = [&name](const std::string& fault) { throw Error(name + ": " + fault); };
  if (contents.size() < kPreamble + 2 || std::memcmp(contents.data(), "\x93NUMPY", 6) != 0)
    fail("not a .npy array: it does not begin with numpy's mark");
  const int version = contents[6];
  if (version < 1 || version > 3) fail("is in version " + std::to_string(version) + " of numpy's format; versions 1 to 3 are read");
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  if (contents.size() < kPreamble + length_bytes) fail("truncated in its header");
  const std::size_t header_bytes = version == 1 ? little_endian_16(&contents[kPreamble]) : little_endian_32(&contents[kPreamble]);
  const std::size_t begin = kPreamble + length_bytes;
  if (header_bytes > contents.size() - begin) fail("truncated: its header claims " + std::to_string(header_bytes) + " bytes");

  const std::string_view rest(reinterpret_cast<const char*>(contents.data()) + begin, contents.size() - begin);
  return {parse_npy_header(name, rest.substr(0, header_bytes), objects), rest.substr(header_bytes)};
}

}  // namespace

NpyArray parse_npy(const std::string& name, const std::vector<unsigned char>& contents) {
  const auto [header, data] = open_npy(name, contents, false);
  const std::size_t data_bytes = data.size();
  const std::uint64_t count = product_up_to(kLargestArrayBytes, header.extents);
  const std::uint64_t claimed = product_up_to(kLargestArrayBytes, {count, header.item_bytes});
  if (claimed != data_bytes) {
    throw Error(name + ": its header claims " + (claimed > kLargestArrayBytes ? "more than 4 GiB" : std::to_string(claimed) + " bytes") +
                " of data, but " + std::to_string(data_bytes) + " follow");
  }
  NpyArray array;
  array.name = name;
  array.dtype = header.dtype;
  array.shape = Shape(std::vector<std::int64_t>(header.extents.begin(), header.extents.end()));
  array.item_bytes = header.item_bytes;
  array.bytes.assign(data.begin(), data.end());
  return array;
}

std::vector<std::vector<std::int32_t>> parse_npy_lists(const std::string& name, const std::vector<unsigned char>& contents) {
  const auto [header, data] = open_npy(name, contents, true);
  if (header.dtype != "|O" || header.extents.size() != 1) throw Error(name + ": is not one row of Python objects");
  return parse_pickled_lists(name, data, header.extents[0]);
}

NpyArray read_npy(const std::filesystem::path& path) {
  InputFile file(path);
  if (file.size() > kLargestArrayBytes) file.fail("is larger than 4 GiB");
  std::vector<unsigned char> contents(static_cast<std::size_t>(file.size()));
  file.read_at(0, contents.data(), contents.size());
  return parse_npy(file.name(), contents);
}

void NpyArray::expect(char kind, std::size_t bytes_each) const {
  if (dtype.size() < 2 || dtype[1] != kind || item_bytes != bytes_each) {
    throw Error(name + ": its elements are `" + dtype + "`, not `" + (bytes_each > 1 ? "<" : "|") + kind + std::to_string(bytes_each) +
                "`");
  }
}

std::vector<std::string> NpyArray::strings() const {
  if (dtype.size() < 2 || (dtype[1] != 'U' && dtype[1] != 'S')) throw Error(name + ": its elements are `" + dtype + "`, not strings");
  const std::size_t unit = dtype[1] == 'U' ? 4 : 1;
  std::vector<std::string> texts(static_cast<std::size_t>(size()));
  for (std::size_t i = 0; i < texts.size(); ++i) {
    // Padded with zeros to the length of the longest.
    const unsigned char* item = bytes.data() + i * item_bytes;
    std::size_t length = item_bytes;
    while (length > 0 && item[length - 1] == 0) --length;
    length = (length + unit - 1) / unit * unit;
    for (std::size_t at = 0; at < length; at += unit) {
      if (unit == 1) {
        texts[i] += static_cast<char>(item[at]);
        continue;
      }
      const std::uint32_t c = little_endian_32(item + at);
      if (c > 0x10ffff) throw Error(name + ": damaged: string " + std::to_string(i) + " holds a character that does not exist");
      append_utf8(texts[i], c);
    }
  }
  return texts;
}

Array NpyArray::array() const {
  if (dtype == "<f4") return {shape, as<float>()};
  if (dtype == "<i4") return {shape, as<std::int32_t>()};
  throw Error(name + ": its elements are `" + dtype + "`; an Array holds `<f4` or `<i4`");
}

}  // namespace lockstep
