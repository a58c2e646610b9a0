#include "simulator/gpu/check/guarded_memory.h"

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cstring>
#include <new>
#include <thread>
#include <utility>

namespace lockstep::sim {

namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kGuard = std::size_t{16} << 20;  // only addresses
constexpr int kPattern = 0xc5;

// What the signal handler reads: no locks, no allocation.
struct Slot {
  std::atomic<bool> taken{false};
  std::atomic<std::uintptr_t> begin{0}, end{0};
  std::atomic<std::uintptr_t> touched{0};
  std::atomic<bool> wrote{false};
};
constinit std::array<Slot, 1024> slots;

int take_slot() {
  for (;;) {
    for (std::size_t i = 0; i < slots.size(); ++i) {
      if (!slots[i].taken.exchange(true)) return static_cast<int>(i);
    }
    std::this_thread::yield();  // others finish their kernels
  }
}

}  // namespace

GuardedMemory::GuardedMemory(std::size_t bytes) : bytes_(bytes) {
  const std::size_t body = (bytes + kPage - 1) / kPage * kPage;
  whole_ = body + 2 * kGuard;
  void* const at = mmap(nullptr, whole_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) throw std::bad_alloc();
  base_ = static_cast<std::byte*>(at);
  if (body > 0 && mprotect(base_ + kGuard, body, PROT_READ | PROT_WRITE) != 0) {
    munmap(base_, whole_);
    throw std::bad_alloc();
  }
  data_ = base_ + kGuard + (body - bytes);
  std::memset(base_ + kGuard, kPattern, body - bytes);
  slot_ = take_slot();
  Slot& slot = slots[static_cast<std::size_t>(slot_)];
  slot.touched = 0;
  slot.wrote = false;
  slot.begin = reinterpret_cast<std::uintptr_t>(base_);
  slot.end = reinterpret_cast<std::uintptr_t>(base_) + whole_;
}

GuardedMemory::GuardedMemory(GuardedMemory&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)),
      whole_(other.whole_),
      data_(other.data_),
      bytes_(other.bytes_),
      slot_(std::exchange(other.slot_, -1)) {}

GuardedMemory::~GuardedMemory() {
  if (base_ == nullptr) return;
  Slot& slot = slots[static_cast<std::size_t>(slot_)];
  slot.begin = slot.end = 0;
  slot.taken = false;
  munmap(base_, whole_);
}

bool GuardedMemory::trespassed(Trespass& found) const {
  const Slot& slot = slots[static_cast<std::size_t>(slot_)];
  if (const std::uintptr_t touched = slot.touched; touched != 0) {
    found = {static_cast<std::int64_t>(touched - reinterpret_cast<std::uintptr_t>(data_)), slot.wrote};
    return true;
  }
  for (const std::byte* at = data_; at > base_ + kGuard;) {
    --at;
    if (std::to_integer<int>(*at) != kPattern) {
      found = {at - data_, true};
      return true;
    }
  }
  return false;
}

bool note_trespass(std::uintptr_t address, bool write) {
  for (Slot& slot : slots) {
    const std::uintptr_t begin = slot.begin;
    if (begin == 0 || address < begin || address >= slot.end) continue;
    std::uintptr_t untouched = 0;
    if (slot.touched.compare_exchange_strong(untouched, address)) slot.wrote = write;
    return mprotect(reinterpret_cast<void*>(address / kPage * kPage), kPage, PROT_READ | PROT_WRITE) == 0;
  }
  return false;
}

}  // namespace lockstep::sim
