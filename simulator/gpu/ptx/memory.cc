// Addresses, loads and stores.
#include "simulator/gpu/ptx/memory.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <sstream>

#include "simulator/gpu/ptx/checks.h"
#include "simulator/gpu/ptx/conversion_types.h"
#include "simulator/gpu/ptx/lanewise.h"
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

[[noreturn]] void no_address(std::uint64_t address, unsigned bytes, const std::string& why, int lane) {
  throw Fault{lane, "access to " + std::to_string(bytes) + " bytes at " + hex(address) + ", " + why, Failure::illegal_address};
}

std::byte* in_regions(Block& block, std::uint64_t address, unsigned bytes, int lane) {
  for (block.last_region = 0; block.last_region < block.regions.size(); ++block.last_region) {
    if (std::byte* const place = block.regions[block.last_region].find(address, bytes)) return place;
  }
  std::string why;
  const auto region = block.memory->region(address, why);
  if (!region) no_address(address, bytes, why, lane);
  std::byte* const place = region->find(address, bytes);
  if (place == nullptr) no_address(address, bytes, "which is only partly in an allocation", lane);
  block.regions.push_back(*region);
  return place;
}

std::byte* in_global(const Warp& warp, std::uint64_t address, unsigned bytes, int lane) {
  Block& block = *warp.block;
  if (block.memory == nullptr) {
    if (address >= kLowestAddress && address < kAboveAddresses) return reinterpret_cast<std::byte*>(address);
    no_address(address, bytes, "which is no address of global memory", lane);
  }
  if (block.last_region < block.regions.size()) {
    if (std::byte* const place = block.regions[block.last_region].find(address, bytes)) return place;
  }
  return in_regions(block, address, bytes, lane);
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

namespace {

struct LaneBits {
  std::uint64_t of[kLanes];
};
constexpr LaneBits kLaneBits = [] {
  LaneBits bits{};
  for (int i = 0; i < kLanes; ++i) bits.of[i] = std::uint64_t{1} << i;
  return bits;
}();
// All ones where the lane is in the mask, else 0; from a table, since the compiler makes vectors of that and not of shifts.
std::uint64_t ones_of(Mask mask, int lane) { return static_cast<std::uint64_t>((mask & kLaneBits.of[lane]) == 0) - 1; }

// Where the bytes from `low` to `high` + bytes are, if they are in one piece of memory that is found quickly. Null: look at each lane.
std::byte* in_one_piece(const Warp& warp, Space space, std::uint64_t low, std::uint64_t high, unsigned bytes) {
  const Block& block = *warp.block;
  const auto within = [&](std::byte* data, std::uint64_t size) { return high <= size && size - high >= bytes ? data + low : nullptr; };
  if (space == Space::shared) return within(block.shared, block.shared_bytes);
  if (space == Space::param) return within(block.parameters, block.parameter_bytes);
  if (space != Space::global && space != Space::generic) return nullptr;
  if (block.memory == nullptr) return low >= kLowestAddress && high < kAboveAddresses ? reinterpret_cast<std::byte*>(low) : nullptr;
  if (space_of(low) != Space::global || block.last_region >= block.regions.size()) return nullptr;
  return block.regions[block.last_region].find(low, high - low + bytes);
}

}  // namespace

void locate(Warp& warp, const Instruction& instruction, std::uint32_t slot, unsigned bytes, Mask mask, Places& places) {
  std::uint64_t addresses[kLanes];
  addresses_of(warp, instruction, slot, addresses);
  const int first = std::countr_zero(mask) % kLanes, last = kLanes - 1 - std::countl_zero(mask) % kLanes;
  const std::uint64_t origin = addresses[first] - static_cast<std::uint64_t>(first) * bytes;
  std::uint64_t apart = 0, different = 0;
  for (int i = 0; i < kLanes; ++i) {
    const std::uint64_t active = ones_of(mask, i);
    apart |= ((origin + static_cast<std::uint64_t>(i) * bytes) ^ addresses[i]) & active;
    different |= (addresses[first] ^ addresses[i]) & active;
  }
  if ((addresses[first] & (bytes - 1)) == 0 && (apart == 0 || different == 0)) {
    if (std::byte* const base = in_one_piece(warp, instruction.space, addresses[first], addresses[different == 0 ? first : last], bytes)) {
      places.pattern = different == 0 ? Places::Pattern::one : Places::Pattern::row;
      places.base = reinterpret_cast<std::uintptr_t>(base) - (different == 0 ? 0 : static_cast<std::uintptr_t>(first) * bytes);
      return;
    }
  }
  places.pattern = Places::Pattern::any;
  if (mask != kAllLanes) {  // lanes that take no part stand where the first one does
    const std::uint64_t where = addresses[first];
    for (int i = 0; i < kLanes; ++i) addresses[i] = where ^ ((addresses[i] ^ where) & ones_of(mask, i));
  }
  std::uint64_t any = 0;
  auto low = static_cast<std::int64_t>(addresses[first]), high = low;  // signed, of which the host has vectors
  for (int i = 0; i < kLanes; ++i) {
    const auto address = static_cast<std::int64_t>(addresses[i]);
    any |= addresses[i];
    low = std::min(low, address);
    high = std::max(high, address);
  }
  if ((any & (bytes - 1)) == 0 && low >= 0) {
    const auto lowest = static_cast<std::uint64_t>(low), highest = static_cast<std::uint64_t>(high);
    if (instruction.space == Space::local && highest <= warp.local_bytes && warp.local_bytes - highest >= bytes) {
      for (int i = 0; i < kLanes; ++i) places.of[i] = warp.local + static_cast<std::uint64_t>(i) * warp.local_bytes + addresses[i];
      return;
    }
    if (std::byte* const base = in_one_piece(warp, instruction.space, lowest, highest, bytes)) {
      for (int i = 0; i < kLanes; ++i) places.of[i] = base + (addresses[i] - lowest);
      return;
    }
  }
  for (Mask left = mask; left != 0; left &= left - 1) {
    const int i = std::countr_zero(left);
    places.of[i] = located(warp, instruction.space, addresses[i], bytes, i);
  }
}

namespace {

template <typename T, typename Register>
Register loaded(const std::byte* place) {
  T value;
  std::memcpy(&value, place, sizeof(T));
  return widened<T, Register>(value);
}

using Pattern = Places::Pattern;

std::byte* place_of(const Places& places, int lane, std::size_t bytes) {
  if (places.pattern == Pattern::one) return places.at<Pattern::one>(lane, bytes);
  return places.pattern == Pattern::row ? places.at<Pattern::row>(lane, bytes) : places.at<Pattern::any>(lane, bytes);
}

// For check mode; `value_of(lane)`: where the bytes are that a lane writes, and null for a read.
template <typename F>
void tell_all(const Warp& warp, const Instruction& instruction, const Places& places, std::size_t bytes, Mask mask, const F& value_of) {
  for (Mask left = mask; left != 0; left &= left - 1) {
    const int i = std::countr_zero(left);
    const std::byte* const value = value_of(i);
    const Use::Kind kind = value == nullptr ? Use::Kind::read : Use::Kind::write;
    tell(warp, instruction, {kind, i, place_of(places, i, bytes), static_cast<unsigned>(bytes), value});
  }
}

// Calls f(place of the lane, lane) for each lane of the mask.
template <Pattern kPattern, typename F>
void each_place(const Places& places, std::size_t bytes, Mask mask, const F& f) {
  if (mask == kAllLanes) {
    for (int i = 0; i < kLanes; ++i) f(places.at<kPattern>(i, bytes), i);
  } else {
    for (Mask left = mask; left != 0; left &= left - 1) {
      const int i = std::countr_zero(left);
      f(places.at<kPattern>(i, bytes), i);
    }
  }
}

// Slots: the registers that are loaded, then the base of the address.
template <typename T, typename Register>
void load(Warp& warp, const Instruction& instruction, Mask mask) {
  const int count = instruction.operation->vector;
  const std::size_t bytes = sizeof(T) * static_cast<std::size_t>(count);
  Places places;
  locate(warp, instruction, instruction.slots[count], static_cast<unsigned>(bytes), mask, places);
  if (warp.checks != nullptr) tell_all(warp, instruction, places, bytes, mask, [](int) -> const std::byte* { return nullptr; });
  for (int k = 0; k < count; ++k) {
    auto* result = warp.lanes<Register>(instruction.slots[k]);
    const std::size_t offset = sizeof(T) * static_cast<std::size_t>(k);
    const auto one = [=](const std::byte* place, int i) { result[i] = loaded<T, Register>(place + offset); };
    if (places.pattern == Pattern::one) {
      const Register value = loaded<T, Register>(places.at<Pattern::one>(0, bytes) + offset);
      for (int i = 0; i < kLanes; ++i) result[i] = chosen(value, result[i], (mask >> i & 1U) != 0);
    } else if (places.pattern == Pattern::any) {
      each_place<Pattern::any>(places, bytes, mask, one);
    } else if (mask == kAllLanes && count == 1 && sizeof(T) == sizeof(Register)) {
      std::memcpy(result, places.at<Pattern::row>(0, bytes), sizeof(T) * kLanes);
    } else {
      each_place<Pattern::row>(places, bytes, mask, one);
    }
  }
}

// Slots: the base of the address, then the registers that are stored. Where lanes write to the same place the highest one's value stays.
template <typename T, typename Register>
void store(Warp& warp, const Instruction& instruction, Mask mask) {
  const int count = instruction.operation->vector;
  const std::size_t bytes = sizeof(T) * static_cast<std::size_t>(count);
  Places places;
  locate(warp, instruction, instruction.slots[0], static_cast<unsigned>(bytes), mask, places);
  if (warp.checks != nullptr) {
    T values[4];
    tell_all(warp, instruction, places, bytes, mask, [&](int i) {
      for (int k = 0; k < count; ++k) values[k] = static_cast<T>(warp.lanes<Register>(instruction.slots[k + 1])[i]);
      return reinterpret_cast<const std::byte*>(values);
    });
  }
  if (places.pattern == Pattern::row && mask == kAllLanes && count == 1 && sizeof(T) == sizeof(Register)) {
    std::memcpy(places.at<Pattern::row>(0, bytes), warp.lanes<Register>(instruction.slots[1]), sizeof(T) * kLanes);
    return;
  }
  const auto one = [&](std::byte* place, int i) {
    for (int k = 0; k < count; ++k) {
      const auto value = static_cast<T>(warp.lanes<Register>(instruction.slots[k + 1])[i]);
      std::memcpy(place + sizeof(T) * static_cast<std::size_t>(k), &value, sizeof(T));
    }
  };
  if (places.pattern == Pattern::any) {
    each_place<Pattern::any>(places, bytes, mask, one);
  } else if (places.pattern == Pattern::row) {
    each_place<Pattern::row>(places, bytes, mask, one);
  } else {
    one(places.at<Pattern::one>(0, bytes), kLanes - 1 - std::countl_zero(mask) % kLanes);
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
