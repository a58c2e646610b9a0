// A pool of objects with stable addresses, which are the handles that CUDA hands out.
//
// A handle is checked without touching memory that is not ours: it must be the address of a slot, and the slot alive. Slots
// are reused last, so that a handle kept after its destruction is noticed rather than mistaken for a new one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

namespace lockstep::sim {

// T has a member `std::atomic<bool> alive`.
template <typename T>
class Slots {
 public:
  // A slot, not yet alive; it keeps what its last user left.
  T* take() {
    const std::lock_guard lock(mutex_);
    if (unused_.size() < kKeptBack) grow();
    T* const slot = unused_.front();
    unused_.pop_front();
    return slot;
  }

  void put_back(T* slot) {
    const std::lock_guard lock(mutex_);
    unused_.push_back(slot);
  }

  // Whether this is a live handle; null is not.
  bool valid(const T* handle) const {
    const std::lock_guard lock(mutex_);
    const auto address = reinterpret_cast<std::uintptr_t>(handle);
    for (const auto& chunk : chunks_) {
      const std::uintptr_t offset = address - reinterpret_cast<std::uintptr_t>(chunk.get());
      if (offset < kChunk * sizeof(T)) return offset % sizeof(T) == 0 && handle->alive.load(std::memory_order_acquire);
    }
    return false;
  }

 private:
  static constexpr std::size_t kChunk = 256;
  static constexpr std::size_t kKeptBack = 64;

  void grow() {
    chunks_.push_back(std::make_unique<T[]>(kChunk));
    for (std::size_t i = 0; i < kChunk; ++i) unused_.push_back(&chunks_.back()[i]);
  }

  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<T[]>> chunks_;
  std::deque<T*> unused_;
};

}  // namespace lockstep::sim
