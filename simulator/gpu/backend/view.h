// What a kernel may touch: pointer and count. `View<const T>` is read, `View<T>` is written (or read and written).
//
// The virtual launch knows from these types alone which bytes an operation touches; raw pointers as kernel arguments do not
// compile there.
#pragma once

#include <cstdint>

#include <backend/host_device.h>

namespace lockstep {

template <typename T>
struct View {
  T* data = nullptr;
  std::int64_t count = 0;

  LOCKSTEP_HOST_DEVICE T& operator[](std::int64_t i) const { return data[i]; }
  LOCKSTEP_HOST_DEVICE View part(std::int64_t first, std::int64_t n) const { return {data + first, n}; }
  LOCKSTEP_HOST_DEVICE operator View<const T>() const { return {data, count}; }
};

}  // namespace lockstep
