// What lesson 8 gives you.
#pragma once

#include "lesson.h"

namespace lesson {

constexpr std::size_t kStep = 256;  // GPU memory is allocated in steps of this many bytes

// Thrown when a logical GPU does not have enough memory left. A person reads its text.
struct OutOfMemory : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Memory of one logical GPU. You write `allocate` and `release`.
class Arena {
 public:
  Arena(int device, std::size_t limit) : device_(device), limit_(limit) {}
  ~Arena() {
    for (const auto& [address, block] : blocks_) cudaFree(address);
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  void* allocate(std::size_t bytes, const std::string& owner);
  void release(void* address);

  std::size_t used() const { return used_; }  // in whole steps
  std::size_t limit() const { return limit_; }

  // "replica 0: weights 4096, replica 0: gradients 1024": the bytes of each owner.
  std::string holders() const {
    std::string text;
    for (const auto& [address, block] : blocks_) text += (text.empty() ? "" : ", ") + block.owner + " " + std::to_string(block.bytes);
    return text.empty() ? "nothing" : text;
  }

 private:
  struct Block {
    std::size_t bytes = 0;  // in whole steps
    std::string owner;
  };
  int device_;
  std::size_t limit_;
  std::size_t used_ = 0;
  std::map<void*, Block> blocks_;  // what is allocated now
};

}  // namespace lesson
