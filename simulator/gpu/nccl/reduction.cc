// One template for each operator; a table by element type. Integers wrap around, as on the GPU.
#include "simulator/gpu/nccl/reduction.h"

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "simulator/gpu/runtime/float16.h"

namespace lockstep::sim::nccl {

namespace {

template <typename T>
inline constexpr bool is_half = std::is_same_v<T, Float16> || std::is_same_v<T, Bfloat16>;

// Signed sums and products are made unsigned, where wrapping around is defined (and wide enough that no promotion to int overflows).
template <typename T>
using Wrapping = std::conditional_t<(sizeof(T) < 8), std::uint32_t, std::uint64_t>;

template <typename T, ncclRedOp_t op>
T combine(T a, T b) {
  if constexpr (is_half<T>) {
    return T::from(combine<float, op>(static_cast<float>(a), static_cast<float>(b)));
  } else if constexpr (op == ncclMax || op == ncclMin) {
    const bool first = op == ncclMax ? a > b : a < b;
    if constexpr (std::is_floating_point_v<T>) return (first || b != b) ? a : b;  // a NaN loses, as in fmax
    return first ? a : b;
  } else if constexpr (std::is_integral_v<T>) {
    const auto x = static_cast<Wrapping<T>>(a);
    const auto y = static_cast<Wrapping<T>>(b);
    return static_cast<T>(op == ncclProd ? x * y : x + y);
  } else {
    return op == ncclProd ? a * b : a + b;
  }
}

template <typename T, ncclRedOp_t op>
inline constexpr bool scaled_before = op == ncclAvg && !std::is_integral_v<T>;

template <typename T>
T reciprocal(int ranks) {
  if constexpr (is_half<T>) {
    return T::from(static_cast<float>(1.0 / ranks));
  } else if constexpr (std::is_same_v<T, double>) {
    return 1.0 / ranks;
  } else {
    return static_cast<T>(1.0F / static_cast<float>(ranks));
  }
}

template <typename T, ncclRedOp_t op>
void start_block(void* accumulator, const void* values, std::size_t count, int ranks) {
  if constexpr (scaled_before<T, op>) {
    auto* __restrict a = static_cast<T*>(accumulator);
    const auto* __restrict v = static_cast<const T*>(values);
    const T scale = reciprocal<T>(ranks);
    for (std::size_t i = 0; i < count; ++i) a[i] = combine<T, ncclProd>(v[i], scale);
  } else {
    std::memcpy(accumulator, values, count * sizeof(T));
  }
}

template <typename T, ncclRedOp_t op>
void join_block(void* accumulator, const void* partial, std::size_t count) {
  auto* __restrict a = static_cast<T*>(accumulator);
  const auto* __restrict v = static_cast<const T*>(partial);
  for (std::size_t i = 0; i < count; ++i) a[i] = combine<T, op>(a[i], v[i]);
}

template <typename T, ncclRedOp_t op>
void combine_block(void* accumulator, const void* values, std::size_t count, int ranks) {
  if constexpr (scaled_before<T, op>) {
    auto* __restrict a = static_cast<T*>(accumulator);
    const auto* __restrict v = static_cast<const T*>(values);
    const T scale = reciprocal<T>(ranks);
    for (std::size_t i = 0; i < count; ++i) a[i] = combine<T, ncclSum>(a[i], combine<T, ncclProd>(v[i], scale));
  } else {
    join_block<T, op>(accumulator, values, count);
  }
}

template <typename T, ncclRedOp_t op>
void finish_block(void* accumulator, std::size_t count, int ranks) {
  if constexpr (op == ncclAvg && std::is_integral_v<T>) {
    auto* a = static_cast<T*>(accumulator);
    for (std::size_t i = 0; i < count; ++i)
      a[i] = static_cast<T>(a[i] / static_cast<std::conditional_t<std::is_signed_v<T>, int, unsigned>>(ranks));
  } else {
    (void)accumulator, (void)count, (void)ranks;
  }
}

template <typename T, ncclRedOp_t op>
Reduction make() {
  return {start_block<T, op>, combine_block<T, op>, join_block<T, op>, finish_block<T, op>};
}

template <typename T>
Reduction by_op(ncclRedOp_t op) {
  switch (op) {
    case ncclProd:
      return make<T, ncclProd>();
    case ncclMax:
      return make<T, ncclMax>();
    case ncclMin:
      return make<T, ncclMin>();
    case ncclAvg:
      return make<T, ncclAvg>();
    default:
      return make<T, ncclSum>();
  }
}

struct TypeRow {
  const char* name;
  std::size_t size;
  Reduction (*reduction)(ncclRedOp_t);
};

// In the order of ncclDataType_t.
constexpr TypeRow kTypes[] = {
    {"int8", 1, by_op<std::int8_t>},     {"uint8", 1, by_op<std::uint8_t>}, {"int32", 4, by_op<std::int32_t>},
    {"uint32", 4, by_op<std::uint32_t>}, {"int64", 8, by_op<std::int64_t>}, {"uint64", 8, by_op<std::uint64_t>},
    {"float16", 2, by_op<Float16>},      {"float32", 4, by_op<float>},      {"float64", 8, by_op<double>},
    {"bfloat16", 2, by_op<Bfloat16>},
};

const TypeRow* row_of(ncclDataType_t type) {
  const auto index = static_cast<unsigned>(type);
  return index < std::size(kTypes) ? &kTypes[index] : nullptr;
}

}  // namespace

std::size_t size_of(ncclDataType_t type) {
  const TypeRow* row = row_of(type);
  return row != nullptr ? row->size : 0;
}

const char* name_of(ncclDataType_t type) {
  const TypeRow* row = row_of(type);
  return row != nullptr ? row->name : "no type";
}

const char* name_of(ncclRedOp_t op) {
  constexpr const char* kNames[] = {"sum", "prod", "max", "min", "avg"};
  const auto index = static_cast<unsigned>(op);
  return index < std::size(kNames) ? kNames[index] : "no operator";
}

Reduction reduction_for(ncclDataType_t type, ncclRedOp_t op) { return row_of(type)->reduction(op); }

}  // namespace lockstep::sim::nccl
