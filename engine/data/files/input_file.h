// A file read piece by piece, whose every failure is a sentence with the file's name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace lockstep {

class InputFile {
 public:
  explicit InputFile(const std::filesystem::path& path);

  std::string name() const { return path_.string(); }
  std::uint64_t size() const { return size_; }
  void read_at(std::uint64_t offset, void* to, std::size_t bytes);

  [[noreturn]] void fail(const std::string& fault) const;  // throws Error("<name>: <fault>")

 private:
  std::filesystem::path path_;
  std::ifstream stream_;
  std::uint64_t size_ = 0;
};

// Numbers as files store them, whatever this machine's own byte order is.
inline std::uint32_t big_endian_32(const unsigned char* p) {
  return (std::uint32_t{p[0]} << 24) | (std::uint32_t{p[1]} << 16) | (std::uint32_t{p[2]} << 8) | std::uint32_t{p[3]};
}
inline std::uint16_t little_endian_16(const unsigned char* p) { return static_cast<std::uint16_t>(p[0] | (p[1] << 8)); }
inline std::uint32_t little_endian_32(const unsigned char* p) {
  return std::uint32_t{little_endian_16(p)} | (std::uint32_t{little_endian_16(p + 2)} << 16);
}
inline std::uint64_t little_endian_64(const unsigned char* p) {
  return std::uint64_t{little_endian_32(p)} | (std::uint64_t{little_endian_32(p + 4)} << 32);
}

// The product of extents, or `limit + 1` when that of the non-zero ones is larger than `limit`: a file's claims, multiplied
// without overflow.
std::uint64_t product_up_to(std::uint64_t limit, const std::vector<std::uint64_t>& extents);

// Nothing this program reads is larger; a file that claims more is damaged or hostile.
inline constexpr std::uint64_t kLargestArrayBytes = std::uint64_t{4} << 30;

}  // namespace lockstep
