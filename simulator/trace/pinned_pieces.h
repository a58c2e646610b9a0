// Page-locked memory that is handed out piece by piece and taken back as a whole.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "engine/device/check.h"

namespace lockstep {

class PinnedPieces {
 public:
  PinnedPieces() = default;
  ~PinnedPieces() {
    for (const Block& block : blocks_) cudaFreeHost(block.data);
  }
  PinnedPieces(const PinnedPieces&) = delete;
  PinnedPieces& operator=(const PinnedPieces&) = delete;

  void* take(std::size_t bytes) {
    bytes = (bytes + 15) / 16 * 16;
    while (current_ < blocks_.size() && used_ + bytes > blocks_[current_].bytes) ++current_, used_ = 0;
    if (current_ == blocks_.size()) {
      Block block{nullptr, std::max<std::size_t>(bytes, 1 << 16)};
      LOCKSTEP_CHECK(cudaMallocHost(&block.data, block.bytes));
      blocks_.push_back(block);
      used_ = 0;
    }
    void* piece = static_cast<unsigned char*>(blocks_[current_].data) + used_;
    used_ += bytes;
    return piece;
  }
  void take_all_back() { current_ = used_ = 0; }

 private:
  struct Block {
    void* data = nullptr;
    std::size_t bytes = 0;
  };
  std::vector<Block> blocks_;
  std::size_t current_ = 0, used_ = 0;
};

}  // namespace lockstep
