// IDX files, the format of MNIST: two zero bytes, a type, the number of extents, the extents (32 bits, big-endian), the elements.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace lockstep {

struct IdxArray {
  std::vector<std::int64_t> shape;
  std::vector<std::uint8_t> bytes;
};

// The images of MNIST have 45 MiB, those of EMNIST's digits 180; as numbers to train with they take four times that.
inline constexpr std::uint64_t kLargestIdxBytes = std::uint64_t{256} << 20;

// A file of unsigned bytes (type 8), gzip-compressed or not (its first bytes tell). Every claim of the header is checked
// against the file's size before memory is taken for it.
IdxArray read_idx(const std::filesystem::path& path);

}  // namespace lockstep
