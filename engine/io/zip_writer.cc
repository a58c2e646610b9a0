#include "engine/io/zip_writer.h"

#include <zlib.h>

#include <limits>

#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr std::uint32_t kLocalHeader = 0x04034b50, kDirectoryEntry = 0x02014b50, kEndOfDirectory = 0x06054b50;
constexpr unsigned kVersion = 20, kStored = 0, kUtf8Names = 1U << 11;
constexpr unsigned kFirstDay = (1U << 5) | 1U;  // 1980-01-01: the same model gives the same bytes

void put16(Bytes& to, unsigned value) {
  to.push_back(static_cast<unsigned char>(value & 0xff));
  to.push_back(static_cast<unsigned char>(value >> 8 & 0xff));
}
void put32(Bytes& to, std::uint32_t value) {
  put16(to, value & 0xffff);
  put16(to, value >> 16);
}
void put_text(Bytes& to, const std::string& text) { to.insert(to.end(), text.begin(), text.end()); }

std::uint32_t as_32(std::size_t value) {
  if (value >= std::numeric_limits<std::uint32_t>::max()) throw Error("A .keras file of 4 GiB or more can't be written; save_weights can");
  return static_cast<std::uint32_t>(value);
}

}  // namespace

void ZipWriter::add(const std::string& name, const Bytes& bytes) {
  const std::uint32_t size = as_32(bytes.size());
  const auto crc = static_cast<std::uint32_t>(crc32_z(0, bytes.data(), bytes.size()));
  members_.push_back({name, crc, size, as_32(bytes_.size())});
  put32(bytes_, kLocalHeader);
  for (const unsigned field : {kVersion, kUtf8Names, kStored, 0U, kFirstDay}) put16(bytes_, field);
  for (const std::uint32_t field : {crc, size, size}) put32(bytes_, field);
  put16(bytes_, static_cast<unsigned>(name.size()));
  put16(bytes_, 0);
  put_text(bytes_, name);
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
}

void ZipWriter::add(const std::string& name, const std::string& text) { add(name, Bytes(text.begin(), text.end())); }

Bytes ZipWriter::finish() {
  const std::uint32_t directory = as_32(bytes_.size());
  for (const Member& member : members_) {
    put32(bytes_, kDirectoryEntry);
    for (const unsigned field : {kVersion, kVersion, kUtf8Names, kStored, 0U, kFirstDay}) put16(bytes_, field);
    for (const std::uint32_t field : {member.crc, member.size, member.size}) put32(bytes_, field);
    put16(bytes_, static_cast<unsigned>(member.name.size()));
    for (int field = 0; field < 4; ++field) put16(bytes_, 0);  // extra, comment, disk, internal attributes
    put32(bytes_, 0600U << 16);                                // rights under Unix, as Python writes them
    put32(bytes_, member.offset);
    put_text(bytes_, member.name);
  }
  const std::uint32_t size = as_32(bytes_.size()) - directory;
  put32(bytes_, kEndOfDirectory);
  put32(bytes_, 0);  // this disk, the directory's disk
  put16(bytes_, static_cast<unsigned>(members_.size()));
  put16(bytes_, static_cast<unsigned>(members_.size()));
  put32(bytes_, size);
  put32(bytes_, directory);
  put16(bytes_, 0);
  return std::move(bytes_);
}

}  // namespace lockstep
