// An n-dimensional array in host memory: what a program hands to `fit` and gets from `predict`.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "lockstep/error.h"
#include "lockstep/shape.h"

namespace lockstep {

enum class DType { float32, int32 };

inline std::size_t size_of(DType) { return 4; }

// Row-major; copies share their elements (as numpy's views do), `clone` does not.
class Array {
 public:
  Array() = default;
  explicit Array(Shape shape, DType dtype = DType::float32)
      : shape_(std::move(shape)),
        dtype_(dtype),
        bytes_(std::make_shared<std::vector<unsigned char>>(static_cast<std::size_t>(shape_.size()) * size_of(dtype))) {}
  Array(Shape shape, const std::vector<float>& values) : Array(std::move(shape), DType::float32) {
    fill_from(values.data(), values.size());
  }
  Array(Shape shape, const std::vector<std::int32_t>& values) : Array(std::move(shape), DType::int32) {
    fill_from(values.data(), values.size());
  }

  const Shape& shape() const& { return shape_; }
  Shape shape() && { return std::move(shape_); }
  DType dtype() const { return dtype_; }
  std::int64_t size() const { return shape_.size(); }
  std::int64_t samples() const { return shape_.rank() ? shape_[0] : 0; }
  std::size_t bytes() const { return bytes_ ? bytes_->size() : 0; }
  bool empty() const { return !bytes_ || bytes_->empty(); }

  template <typename T>
  T* data() {
    check<T>();
    return bytes_ ? reinterpret_cast<T*>(bytes_->data()) : nullptr;
  }
  template <typename T>
  const T* data() const {
    check<T>();
    return bytes_ ? reinterpret_cast<const T*>(bytes_->data()) : nullptr;
  }
  const void* raw() const { return bytes_ ? bytes_->data() : nullptr; }
  void* raw() { return bytes_ ? bytes_->data() : nullptr; }

  // Samples [first, first + n), copied.
  Array slice(std::int64_t first, std::int64_t n) const;
  Array clone() const;
  Array reshaped(Shape shape) const;  // shares the elements

 private:
  template <typename T>
  void check() const {
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, std::int32_t>, "an Array holds float or int32_t");
    if (dtype_ != (std::is_same_v<T, float> ? DType::float32 : DType::int32)) throw Error("Array: read as another type than it holds");
  }
  void fill_from(const void* values, std::size_t count) {
    if (count != static_cast<std::size_t>(size())) throw Error("Array: " + std::to_string(count) + " values for shape " + shape_.str());
    if (count) std::memcpy(bytes_->data(), values, bytes_->size());
  }

  Shape shape_;
  DType dtype_ = DType::float32;
  std::shared_ptr<std::vector<unsigned char>> bytes_;
};

}  // namespace lockstep
