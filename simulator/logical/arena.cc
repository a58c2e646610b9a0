// Counted device memory with names.
#include "simulator/logical/arena.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/device/check.h"
#include "engine/device/stream.h"
#include "lockstep/error.h"

namespace lockstep {

// Shared by the arena and its buffers, so that a buffer may outlive the arena.
struct ArenaState {
  struct Holding {
    std::string owner;
    std::size_t bytes;
  };
  int physical = 0;
  std::size_t limit = 0;
  std::string gpu_name;
  std::mutex mutex;
  std::map<std::uint64_t, Holding> holdings;  // by the buffer's id
  std::size_t used = 0;
  std::size_t peak = 0;
  std::uint64_t allocations = 0;
};

namespace {

// As cudaMalloc aligns; what is counted is what is taken.
std::size_t rounded(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

std::string mebibytes(std::size_t bytes) {
  char text[32];
  if (bytes >= 1024 * 1024) {
    std::snprintf(text, sizeof text, "%.1f MiB", static_cast<double>(bytes) / (1024.0 * 1024.0));
  } else {
    std::snprintf(text, sizeof text, "%.1f KiB", static_cast<double>(bytes) / 1024.0);
  }
  return text;
}

// Same owners are added up; called with the mutex held.
std::string who_holds_what(const ArenaState& state) {
  std::map<std::string, std::size_t> by_owner;
  for (const auto& [id, holding] : state.holdings) by_owner[holding.owner] += holding.bytes;
  std::vector<std::pair<std::string, std::size_t>> largest_first(by_owner.begin(), by_owner.end());
  std::stable_sort(largest_first.begin(), largest_first.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (const auto& [owner, bytes] : largest_first) text += "\n  " + mebibytes(bytes) + "  " + owner;
  return text;
}

std::string refusal(const ArenaState& state, std::size_t bytes, const std::string& owner, const std::string& why) {
  std::string text = owner + " asked for " + mebibytes(bytes) + " on " + state.gpu_name + ", but " + why + ": " + mebibytes(state.used) +
                     " of " + mebibytes(state.limit) + " are taken";
  text += state.holdings.empty() ? "." : ", largest first:" + who_holds_what(state);
  return text + "\nA smaller batch needs less; so does a larger memory limit in split_gpu, where the GPU has room.";
}

}  // namespace

Buffer::~Buffer() {
  if (!arena_) return;
  if (data_ != nullptr) {
    int previous = 0;
    const bool switched =
        cudaGetDevice(&previous) == cudaSuccess && previous != arena_->physical && cudaSetDevice(arena_->physical) == cudaSuccess;
    static_cast<void>(cudaFree(data_));
    if (switched) static_cast<void>(cudaSetDevice(previous));
  }
  const std::lock_guard lock(arena_->mutex);
  if (const auto holding = arena_->holdings.find(id_); holding != arena_->holdings.end()) {
    arena_->used -= holding->second.bytes;
    arena_->holdings.erase(holding);
  }
}

Buffer::Buffer(Buffer&& other) noexcept
    : arena_(std::move(other.arena_)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      id_(std::exchange(other.id_, 0)) {
  other.arena_.reset();
}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this != &other) {
    const Buffer old(std::move(*this));
    arena_ = std::move(other.arena_);
    other.arena_.reset();
    data_ = std::exchange(other.data_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
    id_ = std::exchange(other.id_, 0);
  }
  return *this;
}

Arena::Arena(int physical, std::size_t limit_bytes, std::string gpu_name) : state_(std::make_shared<ArenaState>()) {
  state_->physical = physical;
  state_->limit = limit_bytes;
  state_->gpu_name = std::move(gpu_name);
}

Buffer Arena::allocate(std::size_t bytes, const std::string& owner) {
  Buffer buffer;
  const std::lock_guard lock(state_->mutex);
  const std::size_t size = rounded(bytes);
  if (size < bytes || size > state_->limit || state_->used > state_->limit - size) {
    throw OutOfMemory(refusal(*state_, bytes, owner, "that is past its memory limit"));
  }
  void* data = nullptr;
  if (size > 0) {
    const DeviceGuard guard(state_->physical);
    const cudaError_t status = cudaMalloc(&data, size);
    if (status == cudaErrorMemoryAllocation) {
      static_cast<void>(cudaGetLastError());
      throw OutOfMemory(refusal(*state_, bytes, owner,
                                "the GPU itself is full, its limit notwithstanding (another program, or another logical GPU of it)"));
    }
    check_call(status, "cudaMalloc(&data, size)", __FILE__, __LINE__);
  }
  buffer.id_ = ++state_->allocations;
  state_->holdings.emplace(buffer.id_, ArenaState::Holding{owner, size});
  state_->used += size;
  state_->peak = std::max(state_->peak, state_->used);
  buffer.arena_ = state_;
  buffer.data_ = data;
  buffer.bytes_ = bytes;
  return buffer;
}

std::size_t Arena::used() const {
  const std::lock_guard lock(state_->mutex);
  return state_->used;
}
std::size_t Arena::peak() const {
  const std::lock_guard lock(state_->mutex);
  return state_->peak;
}
std::size_t Arena::limit() const { return state_->limit; }
std::uint64_t Arena::allocations() const {
  const std::lock_guard lock(state_->mutex);
  return state_->allocations;
}

}  // namespace lockstep
