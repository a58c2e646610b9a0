// A chunk: the bytes of a message that travel together. Chunks are reference-counted, so one that is passed on within a process is not
// copied.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "simulator/gpu/nccl/exchange.h"

namespace lockstep::sim::nccl {

inline constexpr std::size_t kChunkBytes = 64 << 10;  // stays in the second-level cache between two hops

class ChunkBytes {
 public:
  explicit ChunkBytes(std::size_t size) : size_(size), data_(std::make_unique_for_overwrite<std::byte[]>(size)) {}
  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }
  std::size_t size() const { return size_; }

 private:
  std::size_t size_;
  std::unique_ptr<std::byte[]> data_;
};

// Written only while there is one reference to it; shared chunks are only read.
using Chunk = std::shared_ptr<ChunkBytes>;

inline Chunk make_chunk(std::size_t bytes) { return std::make_shared<ChunkBytes>(bytes); }

// The range in pieces of at most a chunk. An empty range is one empty piece, since empty messages are sent too.
inline std::vector<Range> in_chunks(Range range, std::size_t element) {
  const std::size_t most = kChunkBytes / element;
  std::vector<Range> pieces;
  for (std::size_t first = range.begin; first < range.end || pieces.empty(); first += most) {
    pieces.push_back({first, std::min(range.end, first + most)});
  }
  return pieces;
}

}  // namespace lockstep::sim::nccl
