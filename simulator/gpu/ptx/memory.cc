// Addresses, loads and stores.
#include "simulator/gpu/ptx/memory.h"

#include <bit>
#include <cstring>
#include <sstream>

#include "simulator/gpu/ptx/conversion_types.h"
#include "simulator/gpu/ptx/operation_sets.h"

namespace lockstep::ptx {

namespace {

constexpr std::uint64_t kLowestAddress = 0x10000;
constexpr std::uint64_t kAboveAddresses = std::uint64_t{1} << 47;  // of programs on x86-64

std::string hex(std::uint64_t value) {
  std::ostringstream text;
  text << "0x" << std::hex << value;
  return text.str();
}

[[noreturn]] void outside(Space space, std::uint64_t address, unsigned bytes, std::uint64_t size, int lane) {
  throw Fault{lane,
              "access to " + std::to_string(bytes) + " bytes at " + hex(address) + " of " + std::string(name_of(space)) +
                  " memory, which has " + std::to_string(size),
              Failure::illegal_address};
}

std::byte* in_global(const Warp& warp, std::uint64_t address, unsigned bytes, int lane) {
  Block& block = *warp.block;
  std::string why = "which is no address of global memory";
  if (block.memory == nullptr) {
    if (address >= kLowestAddress && address < kAboveAddresses) return reinterpret_cast<std::byte*>(address);
  } else {
    if (block.last_region < block.regions.size()) {
      if (std::byte* const place = block.regions[block.last_region].find(address, bytes)) return place;
    }
    for (block.last_region = 0; block.last_region < block.regions.size(); ++block.last_region) {
      if (std::byte* const place = block.regions[block.last_region].find(address, bytes)) return place;
    }
    if (const auto region = block.memory->region(address, why)) {
      if (std::byte* const place = region->find(address, bytes)) {
        block.regions.push_back(*region);
        return place;
      }
      why = "which is only partly in an allocation";
    }
  }
  throw Fault{lane, "access to " + std::to_string(bytes) + " bytes at " + hex(address) + ", " + why, Failure::illegal_address};
}

}  // namespace

Space space_of(std::uint64_t address) {
  const std::uint64_t window = address & kWindowMask;
  return window == kSharedWindow ? Space::shared : window == kLocalWindow ? Space::local : Space::global;
}

std::byte* located(const Warp& warp, Space space, std::uint64_t address, unsigned bytes, int lane) {
  if (space == Space::generic) {
    space = space_of(address);
    if (space != Space::global) address &= ~kWindowMask;
  }
  if ((address & (bytes - 1)) != 0) {
    throw Fault{
        lane,
        "misaligned access to " + std::to_string(bytes) + " bytes at " + hex(address) + " of " + std::string(name_of(space)) + " memory",
        Failure::misaligned_address};
  }
  const Block& block = *warp.block;
  switch (space) {
    case Space::shared:
      if (address > block.shared_bytes || block.shared_bytes - address < bytes) outside(space, address, bytes, block.shared_bytes, lane);
      return block.shared + address;
    case Space::local:
      if (address > warp.local_bytes || warp.local_bytes - address < bytes) outside(space, address, bytes, warp.local_bytes, lane);
      return warp.local + static_cast<std::uint64_t>(lane) * warp.local_bytes + address;
    case Space::param:
      if (address > block.parameter_bytes || block.parameter_bytes - address < bytes)
        outside(space, address, bytes, block.parameter_bytes, lane);
      return block.parameters + address;
    default:
      return in_global(warp, address, bytes, lane);
  }
}

void addresses_of(Warp& warp, const Instruction& instruction, std::uint32_t slot, std::uint64_t (&addresses)[kLanes]) {
  const auto offset = static_cast<std::uint64_t>(instruction.offset) + (instruction.in_frame ? warp.frame_local : 0);
  if (instruction.narrow_address) {
    const auto* base = warp.lanes<std::uint32_t>(slot);
    for (int i = 0; i < kLanes; ++i) addresses[i] = static_cast<std::uint32_t>(base[i] + static_cast<std::uint32_t>(offset));
  } else {
    const auto* base = warp.lanes<std::uint64_t>(slot);
    for (int i = 0; i < kLanes; ++i) addresses[i] = base[i] + offset;
  }
}

void locate(Warp& warp, const Instruction& instruction, std::uint32_t slot, unsigned bytes, Mask mask, std::byte* (&places)[kLanes]) {
  std::uint64_t addresses[kLanes];
  addresses_of(warp, instruction, slot, addresses);
  const bool plain = instruction.space == Space::global && warp.block->memory == nullptr && mask == kAllLanes;
  if (plain) {
    std::uint64_t any = 0, low = ~std::uint64_t{0};
    for (int i = 0; i < kLanes; ++i) {
      any |= addresses[i];
      low = addresses[i] < low ? addresses[i] : low;
    }
    if ((any & (bytes - 1)) == 0 && any < kAboveAddresses && low >= kLowestAddress) {
      for (int i = 0; i < kLanes; ++i) places[i] = reinterpret_cast<std::byte*>(addresses[i]);
      return;
    }
  }
  for (Mask left = mask; left != 0; left &= left - 1) {
    const int i = std::countr_zero(left);
    places[i] = located(warp, instruction.space, addresses[i], bytes, i);
  }
}

namespace {

// Slots: the registers that are loaded, then the base of the address.
template <typename T, typename Register>
void load(Warp& warp, const Instruction& instruction, Mask mask) {
  const int count = instruction.operation->vector;
  std::byte* places[kLanes];
  if (instruction.space == Space::param) {  // the same for all lanes
    std::uint64_t addresses[kLanes];
    addresses_of(warp, instruction, instruction.slots[count], addresses);
    for (Mask left = mask; left != 0; left &= left - 1) {
      const int i = std::countr_zero(left);
      places[i] = located(warp, Space::param, addresses[i], static_cast<unsigned>(sizeof(T)) * static_cast<unsigned>(count), i);
    }
  } else {
    locate(warp, instruction, instruction.slots[count], static_cast<unsigned>(sizeof(T)) * static_cast<unsigned>(count), mask, places);
  }
  for (int k = 0; k < count; ++k) {
    auto* result = warp.lanes<Register>(instruction.slots[k]);
    const auto one = [&](int i) {
      T value;
      std::memcpy(&value, places[i] + sizeof(T) * static_cast<std::size_t>(k), sizeof(T));
      result[i] = widened<T, Register>(value);
    };
    if (mask == kAllLanes) {
      for (int i = 0; i < kLanes; ++i) one(i);
    } else {
      for (Mask left = mask; left != 0; left &= left - 1) one(std::countr_zero(left));
    }
  }
}

// Slots: the base of the address, then the registers that are stored. Where lanes write to the same place the highest one's value stays.
template <typename T, typename Register>
void store(Warp& warp, const Instruction& instruction, Mask mask) {
  const int count = instruction.operation->vector;
  std::byte* places[kLanes];
  locate(warp, instruction, instruction.slots[0], static_cast<unsigned>(sizeof(T)) * static_cast<unsigned>(count), mask, places);
  for (Mask left = mask; left != 0; left &= left - 1) {
    const int i = std::countr_zero(left);
    for (int k = 0; k < count; ++k) {
      const auto value = static_cast<T>(warp.lanes<Register>(instruction.slots[k + 1])[i]);
      std::memcpy(places[i] + sizeof(T) * static_cast<std::size_t>(k), &value, sizeof(T));
    }
  }
}

void add_access(Table& table, bool loads, Space space, int vector, const std::string& type, std::size_t bytes, std::size_t registers,
                Execute execute) {
  Operation operation;
  operation.name = std::string(loads ? "ld" : "st") + (space == Space::generic ? "" : "." + std::string(name_of(space))) +
                   (vector == 1 ? "" : ".v" + std::to_string(vector)) + "." + type + "/" + std::to_string(registers);
  operation.kind = loads ? Kind::load : Kind::store;
  operation.execute = execute;
  operation.space = space;
  operation.vector = static_cast<std::uint8_t>(vector);
  operation.bytes = static_cast<std::uint8_t>(bytes);
  Parameter values, address;
  values.role = loads ? Parameter::Role::write : Parameter::Role::read;
  values.bytes = static_cast<int>(registers);
  values.count = vector;
  values.floating = type[0] == 'f';
  address.role = Parameter::Role::address;
  operation.parameters = loads ? std::vector{values, address} : std::vector{address, values};
  table.add(std::move(operation));
}

template <typename T, typename Register>
void add_type(Table& table, const std::string& type) {
  for (const int vector : {1, 2, 4}) {
    if (vector * sizeof(T) > 16) continue;
    for (const Space space : {Space::generic, Space::global, Space::shared, Space::local, Space::constant, Space::param}) {
      add_access(table, true, space, vector, type, sizeof(T), sizeof(Register), &load<T, Register>);
      if (space == Space::constant) continue;
      add_access(table, false, space, vector, type, sizeof(T), sizeof(Register), &store<T, Register>);
    }
  }
}

}  // namespace

void add_memory_operations(Table& table) {
  each_integer([&]<typename T, typename Register>(const std::string& type) {
    add_type<T, Register>(table, type);
    if constexpr (std::is_unsigned_v<T>) add_type<T, Register>(table, "b" + type.substr(1));
  });
  add_type<std::uint32_t, std::uint32_t>(table, "f32");
  add_type<std::uint64_t, std::uint64_t>(table, "f64");
}

}  // namespace lockstep::ptx
