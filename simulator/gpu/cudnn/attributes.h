// Reading the attributes of a descriptor that is being finalized.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "simulator/gpu/cudnn/descriptor.h"

namespace lockstep::sim::dnn {

inline const Slot* find(const Descriptor& descriptor, cudnnBackendAttributeName_t name) {
  const auto found = descriptor.slots.find(name);
  return found == descriptor.slots.end() ? nullptr : &found->second;
}

template <typename T>
std::optional<T> scalar(const Descriptor& descriptor, cudnnBackendAttributeName_t name) {
  const Slot* slot = find(descriptor, name);
  if (!slot || slot->bytes.size() < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, slot->bytes.data(), sizeof value);
  return value;
}

// An enumeration as the number it is: a caller can set any.
inline int number(const Descriptor& descriptor, cudnnBackendAttributeName_t name, int otherwise) {
  return scalar<int>(descriptor, name).value_or(otherwise);
}

template <typename T>
std::vector<T> array(const Descriptor& descriptor, cudnnBackendAttributeName_t name) {
  std::vector<T> values;
  if (const Slot* slot = find(descriptor, name)) {
    values.resize(slot->bytes.size() / sizeof(T));
    std::memcpy(values.data(), slot->bytes.data(), values.size() * sizeof(T));
  }
  return values;
}

template <typename Value>
const Value* referred(const Descriptor& descriptor, cudnnBackendAttributeName_t name) {
  const Slot* slot = find(descriptor, name);
  return slot && !slot->descriptors.empty() ? slot->descriptors.front()->as<Value>() : nullptr;
}

inline bool any_below(const Ints& values, std::int64_t least) {
  return std::any_of(values.begin(), values.end(), [=](std::int64_t value) { return value < least; });
}

// alpha and the like: float or double, as it was set.
inline double factor(const Descriptor& descriptor, cudnnBackendAttributeName_t name, double otherwise) {
  const Slot* slot = find(descriptor, name);
  if (!slot) return otherwise;
  return slot->bytes.size() == sizeof(double) ? scalar<double>(descriptor, name).value()
                                              : static_cast<double>(scalar<float>(descriptor, name).value());
}

}  // namespace lockstep::sim::dnn
