#include "engine/data/files/zip_archive.h"

#include <zlib.h>

#include <algorithm>
#include <unordered_set>

#include "engine/data/files/inflater.h"

namespace lockstep {
namespace {

constexpr std::uint32_t kLocalHeader = 0x04034b50;
constexpr std::uint32_t kDirectoryEntry = 0x02014b50;
constexpr std::uint32_t kEndOfDirectory = 0x06054b50;
constexpr std::uint32_t kZip64End = 0x06064b50;
constexpr std::uint32_t kZip64Locator = 0x07064b50;
constexpr std::size_t kLocalHeaderBytes = 30, kEntryBytes = 46, kEndBytes = 22, kZip64EndBytes = 56, kZip64LocatorBytes = 20;
constexpr std::size_t kLongestComment = 65535;
constexpr std::uint16_t kStored = 0, kDeflated = 8;
constexpr std::uint16_t kZip64Field = 1;
constexpr std::uint32_t kSeeZip64 = 0xffffffff;  // a 32-bit field too small for its value

}  // namespace

ZipArchive::ZipArchive(const std::filesystem::path& path) : file_(path) { read_directory(find_directory()); }

ZipArchive::Directory ZipArchive::find_directory() {
  // The end record is last but for a comment of unknown length: searched backwards, and its comment must reach the end exactly.
  if (file_.size() < kEndBytes) file_.fail("not a zip file: it is too short");
  const auto tail_bytes = static_cast<std::size_t>(std::min<std::uint64_t>(file_.size(), kEndBytes + kLongestComment));
  std::vector<unsigned char> tail(tail_bytes);
  const std::uint64_t tail_offset = file_.size() - tail_bytes;
  file_.read_at(tail_offset, tail.data(), tail.size());
  std::size_t at = tail_bytes - kEndBytes + 1;
  do {
    if (at == 0) file_.fail("not a zip file, or truncated: it has no directory at its end");
    --at;
  } while (little_endian_32(&tail[at]) != kEndOfDirectory || at + kEndBytes + little_endian_16(&tail[at + 20]) != tail_bytes);
  const unsigned char* end = &tail[at];
  const std::uint64_t end_offset = tail_offset + at;
  if (little_endian_16(end + 4) != 0 || little_endian_16(end + 6) != 0) file_.fail("is one part of a zip file in several parts");

  Directory directory{little_endian_32(end + 16), little_endian_32(end + 12), little_endian_16(end + 10)};
  std::uint64_t limit = end_offset;
  if (directory.offset == kSeeZip64 || directory.size == kSeeZip64 || directory.entries == 0xffff) {
    if (end_offset < kZip64LocatorBytes) file_.fail("damaged: its zip64 directory is missing");
    unsigned char locator[kZip64LocatorBytes] = {};
    file_.read_at(end_offset - kZip64LocatorBytes, locator, sizeof locator);
    if (little_endian_32(locator) != kZip64Locator) file_.fail("damaged: its zip64 directory is missing");
    const std::uint64_t record_offset = little_endian_64(locator + 8);
    unsigned char record[kZip64EndBytes] = {};
    file_.read_at(record_offset, record, sizeof record);
    if (little_endian_32(record) != kZip64End) file_.fail("damaged: its zip64 directory is not where it should be");
    directory = {little_endian_64(record + 48), little_endian_64(record + 40), little_endian_64(record + 32)};
    limit = record_offset;
  }
  if (directory.offset > limit || directory.size > limit - directory.offset) {
    file_.fail("truncated or damaged: its directory claims bytes that are not there");
  }
  if (directory.entries > directory.size / kEntryBytes) {
    file_.fail("damaged: its directory claims " + std::to_string(directory.entries) + " members in " + std::to_string(directory.size) +
               " bytes");
  }
  return directory;
}

void ZipArchive::read_directory(const Directory& directory) {
  if (directory.size > kLargestArrayBytes) file_.fail("its directory claims more than 4 GiB");
  std::vector<unsigned char> bytes(static_cast<std::size_t>(directory.size));
  file_.read_at(directory.offset, bytes.data(), bytes.size());
  std::unordered_set<std::string> seen;
  std::size_t at = 0;
  for (std::uint64_t i = 0; i < directory.entries; ++i) {
    const unsigned char* entry = bytes.data() + at;
    if (bytes.size() - at < kEntryBytes || little_endian_32(entry) != kDirectoryEntry)
      file_.fail("damaged: member " + std::to_string(i) + " of its directory can't be read");
    const std::size_t name_bytes = little_endian_16(entry + 28), extra_bytes = little_endian_16(entry + 30),
                      comment_bytes = little_endian_16(entry + 32);
    if (bytes.size() - at - kEntryBytes < name_bytes + extra_bytes + comment_bytes)
      file_.fail("damaged: member " + std::to_string(i) + " of its directory is cut");
    Member member{std::string(reinterpret_cast<const char*>(entry + kEntryBytes), name_bytes),
                  little_endian_32(entry + 42),
                  little_endian_32(entry + 20),
                  little_endian_32(entry + 24),
                  little_endian_32(entry + 16),
                  little_endian_16(entry + 10),
                  little_endian_16(entry + 8)};
    // Extra fields: (id, bytes) each; id 1 holds, in this order, the 64-bit values of those fields above that are all ones.
    const unsigned char* extra = entry + kEntryBytes + name_bytes;
    const unsigned char* extra_end = extra + extra_bytes;
    while (extra_end - extra >= 4) {
      const std::size_t field_bytes = little_endian_16(extra + 2);
      const unsigned char* value = extra + 4;
      if (static_cast<std::size_t>(extra_end - value) < field_bytes) break;  // padding some writers leave
      const unsigned char* value_end = value + field_bytes;
      if (little_endian_16(extra) == kZip64Field) {
        for (std::uint64_t* wide : {&member.size, &member.compressed, &member.local_header}) {
          if (*wide != kSeeZip64) continue;
          if (value_end - value < 8) file_.fail("damaged: the zip64 sizes of `" + member.name + "` are missing");
          *wide = little_endian_64(value);
          value += 8;
        }
      }
      extra = value_end;
    }
    if (!seen.insert(member.name).second) file_.fail("damaged: it holds `" + member.name + "` twice");
    members_.push_back(std::move(member));
    at += kEntryBytes + name_bytes + extra_bytes + comment_bytes;
  }
}

std::vector<unsigned char> ZipArchive::read(const Member& member) {
  const std::string who = "`" + member.name + "` in it ";
  if (member.flags & 1) file_.fail(who + "is encrypted");
  if (member.method != kStored && member.method != kDeflated) {
    file_.fail(who + "is compressed by method " + std::to_string(member.method) + "; only stored and deflated members are read");
  }
  unsigned char header[kLocalHeaderBytes] = {};
  file_.read_at(member.local_header, header, sizeof header);
  const std::size_t name_bytes = little_endian_16(header + 26), extra_bytes = little_endian_16(header + 28);
  if (little_endian_32(header) != kLocalHeader || name_bytes != member.name.size()) file_.fail(who + "is not where its directory says");
  std::string name(name_bytes, '\0');
  file_.read_at(member.local_header + kLocalHeaderBytes, name.data(), name.size());
  if (name != member.name) file_.fail(who + "is not where its directory says");

  const std::uint64_t begin = member.local_header + kLocalHeaderBytes + name_bytes + extra_bytes;
  if (begin > file_.size() || member.compressed > file_.size() - begin) file_.fail(who + "is truncated");
  const std::uint64_t possible = member.method == kStored ? member.compressed : Inflater::largest_output(member.compressed);
  if (member.size > possible || member.size > kLargestArrayBytes) {
    file_.fail(who + "claims " + std::to_string(member.size) + " bytes, more than its " + std::to_string(member.compressed) +
               " stored bytes can hold");
  }
  std::vector<unsigned char> bytes(static_cast<std::size_t>(member.size));
  if (member.method == kStored) {
    if (member.size != member.compressed) file_.fail(who + "claims two different sizes");
    file_.read_at(begin, bytes.data(), bytes.size());
  } else {
    Inflater inflater(file_, begin, member.compressed, Inflater::Format::deflate);
    inflater.read(bytes.data(), bytes.size());
    inflater.expect_end();
  }
  if (crc32_z(0, bytes.data(), bytes.size()) != member.crc) file_.fail(who + "is damaged: its checksum is wrong");
  return bytes;
}

}  // namespace lockstep
