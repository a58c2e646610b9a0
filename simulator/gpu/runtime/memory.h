// Memory of the virtual GPUs, and page-locked host memory.
//
// One range of addresses is reserved for all devices, a stride for each, so the device of an address is a division. Only addresses are
// reserved; pages are made when they are touched. What was asked for counts against a device's size, in blocks of 256 bytes. The stride is
// twice the size, so an allocation does not fail because of holes between blocks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "simulator/gpu/runtime/operation.h"

namespace lockstep::sim {

inline constexpr std::size_t kAlignment = 256;
inline constexpr int kHostDevice = -1;

struct Block {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
  int device = kHostDevice;
  bool being_freed = false;
  bool managed = false;     // page-locked memory from cudaMallocManaged: the host's and every device's
  bool registered = false;  // the program's own memory, page-locked by cudaHostRegister

  bool contains(std::uintptr_t address, std::size_t n) const {
    return address >= begin && address - begin <= bytes && n <= bytes - (address - begin);
  }
};

class Checker;
struct CallSite;

class Memory {
 public:
  // When memory is checked, device addresses cannot be dereferenced: their bytes are at a constant distance from them. And a freed block's
  // addresses are not used again soon.
  Memory(int devices, std::size_t bytes_per_device, Checker* checker);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  void* allocate(int device, std::size_t bytes);  // nullptr: does not fit
  bool begin_release(void* address);              // false: not a live block's begin, or another thread frees it
  // False: not the begin of a live block. `site`: the code that frees it, when that is not the caller.
  bool release(void* address, const CallSite* site = nullptr);
  void* allocate_host(std::size_t bytes, bool managed = false);
  bool release_host(void* address);
  bool register_host(void* address, std::size_t bytes);  // false: some of it is page-locked already
  bool unregister_host(void* address);
  // Bytes of a device outside its range of addresses, not allocated here: the variables of a module.
  void adopt(int device, void* address, std::size_t bytes);
  void disown(void* address);  // of a module that is unloaded

  std::size_t total() const { return bytes_per_device_; }
  std::size_t used(int device) const;
  std::uint64_t live_blocks() const;
  std::uint64_t live_host_blocks() const;

  const AddressMap& map() const { return map_; }
  int device_of(const void* address) const;  // by range alone, live or not; kHostDevice otherwise

  // The live block, device or page-locked, that holds this address. Costs a few comparisons when this thread asked for
  // the same blocks lately.
  std::optional<Block> find(const void* address) const;

 private:
  struct Device {
    std::map<std::uintptr_t, std::size_t> free;  // begin -> bytes, neighbours joined
    std::size_t used = 0;
    std::deque<std::pair<std::uintptr_t, std::size_t>> quarantined;  // freed, oldest first; not reused yet
    std::size_t quarantined_bytes = 0;
  };
  static void give_back(Device& device, std::uintptr_t begin, std::size_t bytes);
  static void reuse_oldest(Device& device);

  std::size_t bytes_per_device_ = 0;
  Checker* const checker_;
  bool check_ = false;
  AddressMap map_;
  mutable std::mutex mutex_;
  std::vector<Device> devices_;
  std::map<std::uintptr_t, Block> blocks_;       // of all devices
  std::map<std::uintptr_t, Block> host_blocks_;  // page-locked, and adopted
  std::atomic<std::uint64_t> epoch_{1};          // changes when a block is freed: what threads remember is then invalid
};

}  // namespace lockstep::sim
