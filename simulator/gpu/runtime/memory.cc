#include "simulator/gpu/runtime/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <new>
#include <utility>

#include "simulator/gpu/runtime/checker.h"

namespace lockstep::sim {

namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kFilledBytes = std::size_t{32} << 20;
constexpr std::size_t kGiveBackBytes = std::size_t{1} << 20;  // smaller holes keep their pages

std::size_t round_up(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }

std::uintptr_t reserve(std::size_t bytes, int protection) {
  void* const at = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) throw std::bad_alloc();
  madvise(at, bytes, MADV_DONTDUMP);
  madvise(at, bytes, MADV_HUGEPAGE);
  return reinterpret_cast<std::uintptr_t>(at);
}

// The last blocks this thread looked up, valid as long as no block went.
struct Remembered {
  std::uint64_t epoch = 0;
  const void* owner = nullptr;
  std::array<Block, 8> blocks{};
  unsigned next = 0;
};
constinit thread_local Remembered remembered;

}  // namespace

Memory::Memory(int devices, std::size_t bytes_per_device, Checker* checker)
    : bytes_per_device_(bytes_per_device), checker_(checker), check_(checker != nullptr && checker->checks().memory) {
  if (devices == 0) return;
  const std::size_t stride = 2 * round_up(bytes_per_device, kPage) + kPage;
  const std::size_t bytes = stride * static_cast<std::size_t>(devices);
  map_.begin = reserve(bytes, check_ ? PROT_NONE : PROT_READ | PROT_WRITE);
  map_.bytes = bytes;
  map_.stride = stride;
  if (check_) map_.delta = reserve(bytes, PROT_READ | PROT_WRITE) - map_.begin;
  devices_.resize(static_cast<std::size_t>(devices));
  for (int d = 0; d < devices; ++d) devices_[static_cast<std::size_t>(d)].free[map_.begin + static_cast<std::size_t>(d) * stride] = stride;
}

Memory::~Memory() {
  for (const auto& [begin, block] : host_blocks_) {
    if (block.device == kHostDevice && !block.registered) std::free(reinterpret_cast<void*>(begin));
  }
  if (map_.bytes == 0) return;
  munmap(reinterpret_cast<void*>(map_.begin), map_.bytes);
  if (map_.delta != 0) munmap(reinterpret_cast<void*>(map_.begin + map_.delta), map_.bytes);
}

void* Memory::allocate(int device, std::size_t bytes) {
  const std::size_t rounded = round_up(bytes, kAlignment);
  std::uintptr_t begin = 0;
  {
    const std::lock_guard lock(mutex_);
    Device& here = devices_[static_cast<std::size_t>(device)];
    if (rounded < bytes || rounded > bytes_per_device_ - here.used) return nullptr;
    const auto fitting = [&] {
      return std::find_if(here.free.begin(), here.free.end(), [&](const auto& h) { return h.second >= rounded; });
    };
    auto hole = fitting();
    for (; hole == here.free.end() && !here.quarantined.empty(); hole = fitting()) reuse_oldest(here);
    if (hole == here.free.end()) return nullptr;
    begin = hole->first;
    const std::size_t rest = hole->second - rounded;
    here.free.erase(hole);
    if (rest > 0) here.free[begin + rounded] = rest;
    here.used += rounded;
    blocks_[begin] = Block{begin, bytes, device, false};
  }
  // NaN in every floating-point type. Not all of a huge block: its pages may never be used.
  if (check_) std::memset(reinterpret_cast<void*>(begin + map_.delta), 0xff, std::min(rounded, kFilledBytes));
  if (checker_ != nullptr) checker_->allocated(device, begin, bytes);
  return reinterpret_cast<void*>(begin);
}

bool Memory::begin_release(void* address) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(reinterpret_cast<std::uintptr_t>(address));
  return found != blocks_.end() && !std::exchange(found->second.being_freed, true);
}

void Memory::reuse_oldest(Device& device) {
  const auto [begin, bytes] = device.quarantined.front();
  device.quarantined.pop_front();
  device.quarantined_bytes -= bytes;
  give_back(device, begin, bytes);
}

bool Memory::release(void* address, const CallSite* site) {
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(begin);
  if (found == blocks_.end()) return false;
  Device& here = devices_[static_cast<std::size_t>(found->second.device)];
  const std::size_t bytes = round_up(found->second.bytes, kAlignment);
  if (checker_ != nullptr) checker_->released(begin, site);
  blocks_.erase(found);
  epoch_.fetch_add(1, std::memory_order_release);
  here.used -= bytes;

  if (bytes >= kGiveBackBytes) {
    const std::uintptr_t real = begin + map_.delta;
    const std::uintptr_t first = round_up(real, kPage);
    const std::uintptr_t last = (real + bytes) / kPage * kPage;
    madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
  }
  if (check_) {
    // A late use must be noticed: the addresses must not belong to another allocation yet.
    here.quarantined.emplace_back(begin, bytes);
    here.quarantined_bytes += bytes;
    while (here.quarantined_bytes > bytes_per_device_ / 2) reuse_oldest(here);
  } else {
    give_back(here, begin, bytes);
  }
  return true;
}

void Memory::give_back(Device& device, std::uintptr_t begin, std::size_t bytes) {
  auto hole = device.free.emplace(begin, bytes).first;
  if (const auto after = std::next(hole); after != device.free.end() && begin + bytes == after->first) {
    hole->second += after->second;
    device.free.erase(after);
  }
  if (hole != device.free.begin()) {
    const auto before = std::prev(hole);
    if (before->first + before->second == begin) {
      before->second += hole->second;
      device.free.erase(hole);
    }
  }
}

void* Memory::allocate_host(std::size_t bytes, bool managed) {
  void* const at = std::aligned_alloc(kPage, round_up(std::max<std::size_t>(bytes, 1), kPage));
  if (at == nullptr) return nullptr;
  const auto begin = reinterpret_cast<std::uintptr_t>(at);
  if (checker_ != nullptr) checker_->allocated(kHostDevice, begin, bytes);
  const std::lock_guard lock(mutex_);
  host_blocks_[begin] = Block{begin, bytes, kHostDevice, false, managed};
  return at;
}

bool Memory::release_host(void* address) {
  {
    const std::lock_guard lock(mutex_);
    if (host_blocks_.erase(reinterpret_cast<std::uintptr_t>(address)) == 0) return false;
    if (checker_ != nullptr) checker_->released(reinterpret_cast<std::uintptr_t>(address), nullptr);
    epoch_.fetch_add(1, std::memory_order_release);
  }
  std::free(address);
  return true;
}

bool Memory::register_host(void* address, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  const std::lock_guard lock(mutex_);
  const auto after = host_blocks_.lower_bound(begin + bytes);
  if (after != host_blocks_.begin() && std::prev(after)->first + std::prev(after)->second.bytes > begin) return false;
  Block block{begin, bytes, kHostDevice};
  block.registered = true;
  host_blocks_[begin] = block;
  if (checker_ != nullptr) checker_->allocated(kHostDevice, begin, bytes);
  return true;
}

bool Memory::unregister_host(void* address) {
  const std::lock_guard lock(mutex_);
  const auto found = host_blocks_.find(reinterpret_cast<std::uintptr_t>(address));
  if (found == host_blocks_.end() || !found->second.registered) return false;
  host_blocks_.erase(found);
  if (checker_ != nullptr) checker_->released(reinterpret_cast<std::uintptr_t>(address), nullptr);
  epoch_.fetch_add(1, std::memory_order_release);
  return true;
}

void Memory::adopt(int device, void* address, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  const std::lock_guard lock(mutex_);
  host_blocks_[begin] = Block{begin, bytes, device};
}

void Memory::disown(void* address) {
  const std::lock_guard lock(mutex_);
  host_blocks_.erase(reinterpret_cast<std::uintptr_t>(address));
  epoch_.fetch_add(1, std::memory_order_release);
}

std::size_t Memory::used(int device) const {
  const std::lock_guard lock(mutex_);
  return devices_[static_cast<std::size_t>(device)].used;
}

std::uint64_t Memory::live_blocks() const {
  const std::lock_guard lock(mutex_);
  return blocks_.size();
}

std::uint64_t Memory::live_host_blocks() const {
  const std::lock_guard lock(mutex_);
  return host_blocks_.size();
}

int Memory::device_of(const void* address) const {
  const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(address) - map_.begin;
  return offset < map_.bytes ? static_cast<int>(offset / map_.stride) : kHostDevice;
}

std::optional<Block> Memory::find(const void* pointer) const {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  const std::uint64_t epoch = epoch_.load(std::memory_order_acquire);
  Remembered& known = remembered;
  if (known.epoch != epoch || known.owner != this) known = Remembered{epoch, this, {}, 0};
  for (const Block& block : known.blocks) {
    if (address - block.begin < block.bytes) return block;
  }
  const std::lock_guard lock(mutex_);
  const auto& blocks = device_of(pointer) == kHostDevice ? host_blocks_ : blocks_;
  const auto after = blocks.upper_bound(address);
  if (after == blocks.begin()) return std::nullopt;
  const Block& block = std::prev(after)->second;
  if (address - block.begin >= block.bytes) return std::nullopt;
  if (epoch_.load(std::memory_order_relaxed) == epoch) known.blocks[known.next++ % known.blocks.size()] = block;
  return block;
}

}  // namespace lockstep::sim
