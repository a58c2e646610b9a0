// CUDA twin of simulator/gpu/backend/view.h: what a kernel may touch, as pointer and count. `View<const T>` is read, `View<T>` is
// written (or read and written).
#pragma once

#include <cstdint>
#include <type_traits>

#include <backend/host_device.h>

namespace lockstep {

template <typename T>
struct View {
  T* data = nullptr;
  std::int64_t count = 0;

  LOCKSTEP_HOST_DEVICE T& operator[](std::int64_t i) const { return data[i]; }
  LOCKSTEP_HOST_DEVICE View part(std::int64_t first, std::int64_t n) const { return {data + first, n}; }
  // A template, because nvcc warns of a conversion from View<const T> to itself.
  template <typename U, typename = std::enable_if_t<std::is_same_v<U, const T> && !std::is_const_v<T>>>
  LOCKSTEP_HOST_DEVICE operator View<U>() const {
    return {data, count};
  }
};

}  // namespace lockstep
