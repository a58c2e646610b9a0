// Reading HDF5 without the library, which corrupts memory on damaged files: the part of the format that Keras' files use, after the HDF5
// File Format Specification 3.0 (sections II.A, III.A to III.E, IV.A). That is superblocks 0 and 1, groups as symbol tables, contiguous
// datasets, attributes in object headers, and texts in the global heap. Every address and size is checked before it is used.
#include <algorithm>
#include <bit>
#include <cstring>
#include <map>

#include "engine/data/files/input_file.h"
#include "engine/io/hdf5_file.h"
#include "lockstep/error.h"

namespace lockstep::hdf5 {
namespace {

constexpr std::uint64_t kUndefined = ~std::uint64_t{0};
constexpr std::uint64_t kLargestText = 64 << 20;  // of all texts of one attribute
constexpr int kMostAxes = 16;
constexpr unsigned char kSignature[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};

enum MessageType : std::uint16_t {
  kDataspace = 0x1,
  kDatatype = 0x3,
  kLayout = 0x8,
  kFilters = 0xb,
  kAttribute = 0xc,
  kContinuation = 0x10,
  kSymbolTable = 0x11
};
constexpr unsigned char kShared = 2;  // flag of a message whose content is in another message

std::uint64_t padded(std::uint64_t bytes) { return (bytes + 7) / 8 * 8; }

}  // namespace

// A piece of the file; reading past its end is an Error.
class Reader::Span {
 public:
  Span(const Reader& file, std::uint64_t first, std::uint64_t size) : file_(&file), first_(first), size_(size) {
    if (first > file.image_.size() || size > file.image_.size() - first) file.fail("is truncated or damaged: it points past its end");
  }
  std::uint64_t size() const { return size_; }
  Span part(std::uint64_t at, std::uint64_t size) const {
    if (at > size_ || size > size_ - at) file_->fail("is damaged: something in it is longer than what holds it");
    return {*file_, first_ + at, size};
  }
  const unsigned char* data() const { return file_->image_.data() + first_; }
  std::uint8_t u8(std::uint64_t at) const { return *part(at, 1).data(); }
  std::uint16_t u16(std::uint64_t at) const { return little_endian_16(part(at, 2).data()); }
  std::uint32_t u32(std::uint64_t at) const { return little_endian_32(part(at, 4).data()); }
  std::uint64_t u64(std::uint64_t at) const { return little_endian_64(part(at, 8).data()); }
  bool begins(const char* magic) const { return std::memcmp(part(0, 4).data(), magic, 4) == 0; }
  std::string text(std::uint64_t at) const {  // up to a zero byte, or to the end
    const Span rest = part(at, size_ - std::min(at, size_));
    const auto* begin = reinterpret_cast<const char*>(rest.data());
    return {begin, strnlen(begin, static_cast<std::size_t>(rest.size()))};
  }

 private:
  const Reader* file_;
  std::uint64_t first_, size_;
};

struct Reader::Message {
  std::uint16_t type;
  unsigned char flags;
  Span data;
};

// The numbers or texts of a dataset or an attribute.
struct Reader::Kind {
  enum class Class { whole, real, fixed_text, text } of = Class::whole;
  bool is_signed = false;
  std::uint32_t width = 0;
};

Reader::Reader(std::string name, Bytes image) : name_(std::move(name)), image_(std::move(image)) {
  if (image_.size() < 96 || std::memcmp(image_.data(), kSignature, sizeof kSignature) != 0) fail("is not an HDF5 file, or it is damaged");
  const Span head(*this, 0, 96);
  const unsigned version = head.u8(8);
  if (version > 1) fail("is an HDF5 file of a newer form than Keras writes");
  if (head.u8(13) != 8 || head.u8(14) != 8) fail("is an HDF5 file with addresses that are not 64 bits wide");
  const std::uint64_t base = version == 0 ? 24 : 28;
  if (head.u64(base) != 0) fail("is an HDF5 file that does not begin at its beginning");
  root_ = head.u64(base + 40);
}

void Reader::fail(const std::string& fault) const { throw Error(name_ + ": " + fault); }

std::vector<Reader::Message> Reader::messages(std::uint64_t header) const {
  const Span head(*this, header, 16);
  if (head.u8(0) != 1) fail("is damaged, or an HDF5 file of a newer form than Keras writes");
  std::vector<Span> blocks{Span(*this, header + 16, head.u32(8))};
  std::vector<Message> found;
  // Ends a chain of blocks that is a cycle: there can't be more blocks than bytes for them.
  for (std::size_t i = 0; i < blocks.size() && i < image_.size() / 16; ++i) {
    const Span block = blocks[i];
    for (std::uint64_t at = 0; at + 8 <= block.size();) {
      const std::uint16_t size = block.u16(at + 2);
      const Message message{block.u16(at), block.u8(at + 4), block.part(at + 8, size)};
      if (message.type == kContinuation) {
        blocks.emplace_back(*this, message.data.u64(0), message.data.u64(8));
      } else {
        found.push_back(message);
      }
      if (found.size() > image_.size() / 8) fail("is damaged: its headers run in a circle");
      at += 8 + std::uint64_t{size};
    }
  }
  return found;
}

const Reader::Members& Reader::group(std::uint64_t header) const {
  const auto cached = groups_.find(header);
  if (cached != groups_.end()) return cached->second;
  Members members;
  for (const Message& message : messages(header)) {
    if (message.type != kSymbolTable) continue;
    const Span heap(*this, message.data.u64(8), 32);
    if (!heap.begins("HEAP")) fail("is damaged: a group has no names");
    const Span names(*this, heap.u64(24), heap.u64(8));
    std::vector<std::uint64_t> nodes{message.data.u64(0)};
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (i > image_.size() / 8) fail("is damaged: its groups run in a circle");
      const Span node(*this, nodes[i], 8);
      if (node.begins("SNOD")) {
        constexpr std::uint64_t kEntry = 40;
        const Span entries(*this, nodes[i] + 8, node.u16(6) * kEntry);
        for (std::uint64_t at = 0; at < entries.size(); at += kEntry) members[names.text(entries.u64(at))] = entries.u64(at + 8);
      } else if (node.begins("TREE") && node.u8(4) == 0) {
        const std::uint64_t count = node.u16(6);
        const Span children(*this, nodes[i] + 24, 8 + 16 * count);
        if (nodes.size() + count > image_.size() / 8) fail("is damaged: its groups run in a circle");
        for (std::uint64_t k = 0; k < count; ++k) nodes.push_back(children.u64(8 + 16 * k));
      } else {
        fail("is damaged: the names of a group can't be found");
      }
    }
  }
  return groups_.emplace(header, std::move(members)).first->second;
}

// The object's header, or kUndefined.
std::uint64_t Reader::find(const std::string& path) const {
  std::uint64_t header = root_;
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const Members& members = group(header);
    const auto found = members.find(path.substr(begin, end - begin));
    if (found == members.end()) return kUndefined;
    header = found->second;
    begin = end + 1;
  }
  return header;
}

bool Reader::holds(const std::string& path, int type) const {
  const std::uint64_t header = find(path);
  if (header == kUndefined) return false;
  const std::vector<Message> all = messages(header);
  return std::any_of(all.begin(), all.end(), [&](const Message& message) { return message.type == type; });
}
bool Reader::has_group(const std::string& path) const { return holds(path, kSymbolTable); }
bool Reader::has_dataset(const std::string& path) const { return holds(path, kLayout); }

std::vector<std::string> Reader::members(const std::string& path) const {
  std::vector<std::string> names;
  if (!has_group(path)) return names;
  for (const auto& [name, header] : group(find(path))) names.push_back(name);
  return names;
}

std::vector<std::uint64_t> Reader::extents(const Span& space) const {
  const unsigned version = space.u8(0), rank = space.u8(1);
  if ((version != 1 && version != 2) || rank > kMostAxes) fail("is damaged: the shape of something makes no sense");
  if (version == 2 && space.u8(3) == 2) return {0};  // "null": no elements
  std::vector<std::uint64_t> all;
  for (unsigned axis = 0; axis < rank; ++axis) all.push_back(space.u64((version == 1 ? 8 : 4) + 8 * axis));
  return all;
}

Reader::Kind Reader::kind(const Span& type) const {
  const unsigned of = type.u8(0) & 0xf;
  const std::uint32_t bits = type.u32(0) >> 8;
  Kind kind;
  kind.width = type.u32(4);
  if (of == 0 && (bits & 1) == 0 && std::has_single_bit(kind.width) && kind.width <= 8 && type.u16(8) == 0 &&
      type.u16(10) == 8 * kind.width) {
    kind.is_signed = (bits & 8) != 0;
  } else if (of == 1 && (bits & 0x41) == 0 && type.u16(8) == 0 && type.u16(10) == 8 * kind.width &&
             ((kind.width == 4 && type.u8(13) == 8 && type.u32(16) == 127) ||
              (kind.width == 8 && type.u8(13) == 11 && type.u32(16) == 1023))) {
    kind.of = Kind::Class::real;
  } else if (of == 3 && kind.width > 0) {
    kind.of = Kind::Class::fixed_text;
  } else if (of == 9 && (bits & 0xf) == 1 && kind.width == 16) {
    kind.of = Kind::Class::text;
  } else {
    fail("holds values of a type that Keras does not write, or it is damaged");
  }
  return kind;
}

Numbers Reader::read(const std::string& path) const {
  const std::string title = "its dataset \"" + path + "\"";
  if (!has_dataset(path)) fail("has no dataset \"" + path + "\"");
  std::vector<std::uint64_t> shape;
  Kind type;
  std::uint64_t address = kUndefined, size = 0;
  for (const Message& message : messages(find(path))) {
    if ((message.flags & kShared) != 0 && (message.type == kDataspace || message.type == kDatatype || message.type == kLayout))
      fail(title + " is of a form that Keras does not write");
    if (message.type == kFilters) fail(title + " is compressed, which Keras does not do");
    if (message.type == kDataspace) shape = extents(message.data);
    if (message.type == kDatatype) type = kind(message.data);
    if (message.type == kLayout) {
      const unsigned version = message.data.u8(0), how = message.data.u8(1);
      if ((version != 3 && version != 4) || how > 1) fail(title + " is cut into chunks, which Keras does not do");
      if (how == 0) {
        size = message.data.u16(2);
        address = static_cast<std::uint64_t>(message.data.part(4, size).data() - image_.data());
      } else {
        address = message.data.u64(2);
        size = message.data.u64(10);
      }
    }
  }
  // What a file claims must be in it, before anything is allocated for it.
  const std::uint64_t count = product_up_to(image_.size(), shape);
  if (type.width == 0 || count > image_.size() / type.width) fail(title + " claims more numbers than the file has");
  if (count * type.width > size) fail(title + " is not all there");
  const Span data(*this, count > 0 ? address : 0, count * type.width);
  Numbers numbers;
  numbers.shape = Shape(std::vector<std::int64_t>(shape.begin(), shape.end()));
  if (type.of == Kind::Class::real) {
    for (std::uint64_t i = 0; i < count; ++i)
      numbers.floats.push_back(type.width == 4 ? std::bit_cast<float>(data.u32(4 * i))
                                               : static_cast<float>(std::bit_cast<double>(data.u64(8 * i))));
  } else if (type.of == Kind::Class::whole) {
    numbers.whole = true;
    for (std::uint64_t i = 0; i < count; ++i) {
      std::uint64_t value = 0;
      for (std::uint32_t byte = 0; byte < type.width; ++byte) value |= std::uint64_t{data.u8(i * type.width + byte)} << (8 * byte);
      const unsigned unused = 64 - 8 * type.width;
      numbers.integers.push_back(type.is_signed ? static_cast<std::int64_t>(value << unused) >> unused : static_cast<std::int64_t>(value));
    }
  } else {
    fail(title + " holds no numbers");
  }
  return numbers;
}

// An object of a collection in the global heap.
std::string Reader::heap_text(std::uint64_t collection, std::uint32_t index, std::uint32_t length) const {
  const Span head(*this, collection, 16);
  if (!head.begins("GCOL")) fail("is damaged: a text is not where it should be");
  const Span all(*this, collection, head.u64(8));
  for (std::uint64_t at = 16; at + 16 <= all.size();) {
    const std::uint16_t number = all.u16(at);
    const std::uint64_t size = all.u64(at + 8);
    if (number == 0) break;  // the free rest
    const Span object = all.part(at + 16, size);
    if (number == index) {
      const auto* begin = reinterpret_cast<const char*>(object.part(0, length).data());
      return {begin, strnlen(begin, length)};
    }
    at += 16 + padded(size);
  }
  fail("is damaged: a text is missing");
}

std::vector<std::string> Reader::attribute(const std::string& path, const std::string& wanted) const {
  std::vector<std::string> texts;
  const std::uint64_t header = find(path);
  if (header == kUndefined) return texts;
  for (const Message& message : messages(header)) {
    if (message.type != kAttribute) continue;
    const Span& data = message.data;
    const unsigned version = data.u8(0);
    if (version < 1 || version > 3 || (message.flags & kShared) != 0 || (version > 1 && data.u8(1) != 0))
      fail("has an attribute of a form that Keras does not write");
    const auto room = [&](std::uint64_t bytes) { return version == 1 ? padded(bytes) : bytes; };
    const std::uint64_t name_at = version == 3 ? 9 : 8;
    const std::uint64_t type_at = name_at + room(data.u16(2)), space_at = type_at + room(data.u16(4)),
                        values_at = space_at + room(data.u16(6));
    if (data.part(name_at, data.u16(2)).text(0) != wanted) continue;
    const std::uint64_t count = product_up_to(image_.size(), extents(data.part(space_at, data.u16(6))));
    if (count == 0) return texts;  // numpy writes an empty list of names as an empty list of floats
    const Kind type = kind(data.part(type_at, data.u16(4)));
    if (type.of != Kind::Class::text && type.of != Kind::Class::fixed_text) fail("its attribute \"" + wanted + "\" holds no text");
    if (count > data.size() / type.width) fail("its attribute \"" + wanted + "\" claims more than it has");
    const Span values = data.part(values_at, count * type.width);
    std::uint64_t total = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      const Span value = values.part(i * type.width, type.width);
      texts.push_back(type.of == Kind::Class::fixed_text ? value.text(0)
                      : value.u32(0) == 0                ? std::string()
                                                         : heap_text(value.u64(4), value.u32(12), value.u32(0)));
      total += texts.back().size();
      if (total > kLargestText) fail("its attribute \"" + wanted + "\" is longer than any of Keras'");
    }
    return texts;
  }
  return texts;
}

std::string Reader::text(const std::string& group, const std::string& name) const {
  const std::vector<std::string> found = attribute(group, name);
  return found.empty() ? std::string() : found.front();
}

std::vector<std::string> Reader::texts(const std::string& group, const std::string& name) const {
  std::vector<std::string> all = attribute(group, name);
  if (!all.empty()) return all;
  for (int piece = 0;; ++piece) {
    const std::vector<std::string> more = attribute(group, name + std::to_string(piece));
    if (more.empty()) return all;
    all.insert(all.end(), more.begin(), more.end());
  }
}

}  // namespace lockstep::hdf5
