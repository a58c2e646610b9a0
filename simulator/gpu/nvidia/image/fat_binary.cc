#include "simulator/gpu/nvidia/image/fat_binary.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <set>

#include "simulator/gpu/nvidia/image/unpack.h"
#include "simulator/gpu/ptx/error.h"

namespace lockstep::nvidia {

namespace {

using ptx::Error;

constexpr std::uint32_t kMagic = 0xba55ed50;
constexpr std::size_t kImageHeader = 16, kEntryHeader = 64;
constexpr std::uint16_t kPtx = 1, kElf = 2;
constexpr std::uint64_t kLz4 = 0x2000, kZstd = 0x8000;

template <typename T>
T number_at(std::span<const std::byte> bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

std::string bytes_of(std::uint64_t n) { return std::to_string(n) + " bytes"; }

// The image at the start of these bytes, cut to its length.
std::span<const std::byte> whole_image(std::span<const std::byte> bytes) {
  if (bytes.size() < kImageHeader) throw Error("The fat binary is cut off: it has " + bytes_of(bytes.size()) + ", fewer than its header.");
  if (number_at<std::uint32_t>(bytes, 0) != kMagic) throw Error("These bytes are not a fat binary: they do not begin with its mark.");
  const auto version = number_at<std::uint16_t>(bytes, 4);
  if (version != 1) throw Error("The fat binary has format version " + std::to_string(version) + ", and only version 1 is known.");
  const auto header = number_at<std::uint16_t>(bytes, 6);
  const auto content = number_at<std::uint64_t>(bytes, 8);
  if (header < kImageHeader || header > bytes.size() || content > bytes.size() - header) {
    throw Error("The fat binary is cut off: its header says " + bytes_of(content) + " after " + bytes_of(header) + ", and there are " +
                bytes_of(bytes.size()) + " in all.");
  }
  return bytes.first(header + static_cast<std::size_t>(content));
}

FatEntry read_entry(std::span<const std::byte> header, std::span<const std::byte> content) {
  FatEntry entry;
  entry.ptx = number_at<std::uint16_t>(header, 0) == kPtx;
  entry.architecture = static_cast<int>(number_at<std::uint32_t>(header, 28) & 0xffff);
  entry.content = content;
  entry.unpacked_bytes = content.size();
  const auto flags = number_at<std::uint64_t>(header, 40);
  if ((flags & (kLz4 | kZstd)) == 0) return entry;
  entry.packing = (flags & kZstd) != 0 ? Packing::zstd : Packing::lz4;
  const auto packed = number_at<std::uint32_t>(header, 16);
  if (packed == 0 || packed > content.size()) {
    throw Error("The fat binary is damaged: an entry of " + bytes_of(content.size()) + " says that " + bytes_of(packed) +
                " are compressed.");
  }
  entry.content = content.first(packed);
  const auto unpacked = number_at<std::uint64_t>(header, 56);
  if (unpacked > kMostUnpackedBytes) throw Error("The fat binary is damaged: an entry would have " + bytes_of(unpacked) + ".");
  entry.unpacked_bytes = static_cast<std::size_t>(unpacked);
  return entry;
}

}  // namespace

std::vector<FatEntry> read_fat_binary(std::span<const std::byte> bytes) {
  const std::span<const std::byte> image = whole_image(bytes);
  std::vector<FatEntry> entries;
  for (std::size_t at = number_at<std::uint16_t>(image, 6); at < image.size();) {
    const std::span<const std::byte> rest = image.subspan(at);
    if (rest.size() < kEntryHeader)
      throw Error("The fat binary is cut off inside the header of an entry, at byte " + std::to_string(at) + ".");
    const auto header = number_at<std::uint32_t>(rest, 4);
    const auto content = number_at<std::uint64_t>(rest, 8);
    if (header < kEntryHeader || header > rest.size() || content > rest.size() - header) {
      throw Error("The fat binary is damaged: the entry at byte " + std::to_string(at) + " says " + bytes_of(content) +
                  " after a header of " + bytes_of(header) + ", and " + bytes_of(rest.size()) + " are left.");
    }
    const auto bytes_here = static_cast<std::size_t>(content);
    const auto kind = number_at<std::uint16_t>(rest, 0);
    if (kind == kPtx || kind == kElf) entries.push_back(read_entry(rest.first(header), rest.subspan(header, bytes_here)));
    at += header + bytes_here;
  }
  return entries;
}

std::vector<FatEntry> read_fat_section(std::span<const std::byte> section) {
  std::vector<FatEntry> all;
  for (std::size_t at = 0; at < section.size();) {
    const std::span<const std::byte> rest = section.subspan(at);
    if (rest.size() >= 8 && number_at<std::uint64_t>(rest, 0) == 0) {  // between images of different object files
      at += 8;
      continue;
    }
    const std::vector<FatEntry> entries = read_fat_binary(rest);
    all.insert(all.end(), entries.begin(), entries.end());
    at += (whole_image(rest).size() + 7) / 8 * 8;
  }
  return all;
}

const FatEntry* best_ptx(std::span<const FatEntry> entries, int architecture) {
  const FatEntry* best = nullptr;
  for (const FatEntry& entry : entries) {
    if (!entry.ptx || entry.architecture > architecture) continue;
    if (best == nullptr || entry.architecture > best->architecture) best = &entry;
  }
  return best;
}

std::string describe(std::span<const FatEntry> entries) {
  const auto list = [&](bool ptx, const std::string& kind, const std::string& prefix) {
    std::set<int> architectures;
    for (const FatEntry& entry : entries) {
      if (entry.ptx == ptx) architectures.insert(entry.architecture);
    }
    std::string text;
    for (const int architecture : architectures) text += (text.empty() ? kind + " for " : " and ") + prefix + std::to_string(architecture);
    return text;
  };
  const std::string text = list(true, "PTX", "compute_"), code = list(false, "machine code", "sm_");
  if (text.empty() && code.empty()) return "no code";
  return text + (text.empty() || code.empty() ? "" : ", ") + code;
}

std::string ptx_text(const FatEntry& entry) {
  std::string text = unpack(entry.packing, entry.content, entry.unpacked_bytes);
  text.erase(std::find_if(text.rbegin(), text.rend(), [](char c) { return c != '\0'; }).base(), text.end());
  return text;
}

}  // namespace lockstep::nvidia
