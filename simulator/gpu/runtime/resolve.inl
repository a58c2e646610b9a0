// resolve() of operation.h: a constant distance, and only for addresses inside the range that belongs to the devices.
#pragma once

#include <cstdint>

namespace lockstep::sim {

struct AddressMap {
  std::uintptr_t begin = 0;  // device addresses are begin ... begin + bytes
  std::uintptr_t bytes = 0;
  std::uintptr_t delta = 0;   // from a device address to where its bytes are
  std::uintptr_t stride = 1;  // from one device's addresses to the next one's
};
const AddressMap& address_map();

template <typename T>
T* resolve(T* device_address) {
  const AddressMap& map = address_map();
  const auto address = reinterpret_cast<std::uintptr_t>(device_address);
  return address - map.begin < map.bytes ? reinterpret_cast<T*>(address + map.delta) : device_address;
}

}  // namespace lockstep::sim
