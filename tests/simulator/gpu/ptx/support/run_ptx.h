// Small modules written in a test, and their launch on vectors.
#pragma once

#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "simulator/gpu/ptx/machine.h"

namespace lockstep::testing {

inline std::string module_of(const std::string& functions) { return ".version 8.3\n.target sm_90\n.address_size 64\n" + functions; }

// Arguments one after the other, each aligned to its size.
class Packed {
 public:
  template <typename... T>
  explicit Packed(const T&... values) {
    (add(values), ...);
  }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  template <typename T>
  void add(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    const std::size_t at = (bytes_.size() + alignof(T) - 1) / alignof(T) * alignof(T);
    bytes_.resize(at + sizeof(T));
    std::memcpy(bytes_.data() + at, &value, sizeof(T));
  }
  std::vector<std::byte> bytes_;
};

struct Shape {
  ptx::Dim grid, block;
  std::uint32_t shared = 0;
};

template <typename... T>
void run_kernel(const ptx::Module& module, const std::string& name, const Shape& shape, ptx::Counts* counts, std::string* printed,
                const T&... values) {
  const Packed packed(values...);
  ptx::Launch launch;
  launch.grid = shape.grid;
  launch.block = shape.block;
  launch.shared_bytes = shape.shared;
  launch.parameters = packed.bytes();
  launch.budget = 100'000'000;
  launch.counts = counts;
  launch.printed = printed;
  ptx::launch(module, *module.kernel(name), launch);
}
template <typename... T>
void run_text(const std::string& functions, const Shape& shape, const T&... values) {
  const ptx::Module module(module_of(functions));
  run_kernel(module, module.kernels().at(0), shape, nullptr, nullptr, values...);
}

}  // namespace lockstep::testing
