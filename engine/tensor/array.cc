// Host arrays: slices, copies and other shapes of the same elements.
#include "lockstep/array.h"

#include <utility>

namespace lockstep {

Array Array::slice(std::int64_t first, std::int64_t n) const {
  if (shape_.rank() == 0) throw Error("Array: a slice needs at least one axis");
  if (first < 0 || n < 0 || first + n > samples()) {
    throw Error("Array: samples [" + std::to_string(first) + ", " + std::to_string(first + n) + ") of an array with " +
                std::to_string(samples()));
  }
  Array part(shape_.sample().batched(n), dtype_);
  const std::size_t sample_bytes = static_cast<std::size_t>(shape_.sample().size()) * size_of(dtype_);
  if (part.bytes() > 0)
    std::memcpy(part.raw(), static_cast<const unsigned char*>(raw()) + static_cast<std::size_t>(first) * sample_bytes, part.bytes());
  return part;
}

Array Array::clone() const {
  Array copy = *this;
  if (bytes_) copy.bytes_ = std::make_shared<std::vector<unsigned char>>(*bytes_);
  return copy;
}

Array Array::reshaped(Shape shape) const {
  if (shape.size() != size()) throw Error("Array: " + shape_.str() + " cannot be reshaped to " + shape.str());
  Array other = *this;
  other.shape_ = std::move(shape);
  return other;
}

}  // namespace lockstep
