// cudaLaunchKernelEx of the virtual GPU: packs the arguments by value and says which of them are memory.
//
// A `View<const T>` is read and a `View<T>` written; so the launch knows from the types alone which bytes it touches.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include <backend/view.h>

namespace lockstep::sim {

enum class ArgumentKind : std::uint8_t { value, read, write };

struct Argument {
  std::uint32_t offset = 0;   // in the packed arguments
  std::uint32_t element = 0;  // bytes of an element of a view
  ArgumentKind kind = ArgumentKind::value;
};

// A kernel's parameter list, for the runtime.
struct Signature {
  const Argument* arguments = nullptr;
  int count = 0;
  std::size_t bytes = 0;
  void (*call)(void (*kernel)(), const std::byte* packed) = nullptr;
};

inline constexpr std::size_t kMaximumArgumentBytes = 4096;  // as CUDA has it

// Every view looks like this one to the runtime.
using AnyView = View<std::byte>;

cudaError_t launch(const cudaLaunchConfig_t* config, void (*kernel)(), const Signature& signature, const std::byte* packed);

template <typename T>
struct ViewTraits {
  static constexpr ArgumentKind kKind = ArgumentKind::value;
  static constexpr std::size_t kElement = 0;
};
template <typename T>
struct ViewTraits<View<T>> {
  static_assert(sizeof(View<T>) == sizeof(AnyView));
  static constexpr ArgumentKind kKind = std::is_const_v<T> ? ArgumentKind::read : ArgumentKind::write;
  static constexpr std::size_t kElement = sizeof(T);
};

template <typename... Parameters>
struct Packing {
  static_assert((!std::is_pointer_v<Parameters> && ...), "pass memory to a kernel as a View, not as a raw pointer");
  static_assert((!std::is_reference_v<Parameters> && ...), "kernels take their arguments by value");
  static_assert((std::is_trivially_copyable_v<Parameters> && ...), "kernel arguments are copied as bytes");
  static_assert(((alignof(Parameters) <= 16) && ...), "kernel arguments are aligned to at most 16 bytes");

  static constexpr int kCount = sizeof...(Parameters);
  using Table = std::array<Argument, kCount == 0 ? 1 : kCount>;

  static constexpr std::pair<Table, std::size_t> lay_out() {
    Table table{};
    std::size_t end = 0;
    int i = 0;
    ((end = (end + alignof(Parameters) - 1) / alignof(Parameters) * alignof(Parameters),
      table[static_cast<std::size_t>(i++)] =
          Argument{static_cast<std::uint32_t>(end), static_cast<std::uint32_t>(ViewTraits<Parameters>::kElement),
                   ViewTraits<Parameters>::kKind},
      end += sizeof(Parameters)),
     ...);
    return {table, end};
  }
  static constexpr Table kTable = lay_out().first;
  static constexpr std::size_t kBytes = lay_out().second;
  static_assert(kBytes <= kMaximumArgumentBytes, "kernel arguments take at most 4096 bytes");

  static void call(void (*kernel)(), [[maybe_unused]] const std::byte* packed) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      reinterpret_cast<void (*)(Parameters...)>(kernel)(*reinterpret_cast<const Parameters*>(packed + kTable[I].offset)...);
    }
    (std::index_sequence_for<Parameters...>{});
  }
  static constexpr Signature kSignature{kTable.data(), kCount, kBytes, &call};

  static void pack([[maybe_unused]] std::byte* packed, const Parameters&... values) {
    [[maybe_unused]] std::size_t i = 0;
    (std::memcpy(packed + kTable[i++].offset, &values, sizeof(Parameters)), ...);
  }
};

}  // namespace lockstep::sim

template <typename... ExpTypes, typename... ActTypes>
static inline cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(ExpTypes...), ActTypes&&... args) {
  using Packing = lockstep::sim::Packing<ExpTypes...>;
  alignas(16) std::byte packed[Packing::kBytes == 0 ? 1 : Packing::kBytes];
  Packing::pack(packed, static_cast<const ExpTypes&>(std::forward<ActTypes>(args))...);
  return lockstep::sim::launch(config, reinterpret_cast<void (*)()>(kernel), Packing::kSignature, packed);
}
