// A typed view on device memory; it does not own it. Images are NHWC.
#pragma once

#include <cstdint>

#include <backend/view.h>
#include "lockstep/array.h"
#include "lockstep/shape.h"

namespace lockstep {

class Tensor {
 public:
  Tensor() = default;
  Tensor(void* data, Shape shape, DType dtype = DType::float32) : data_(data), shape_(std::move(shape)), dtype_(dtype) {}

  const Shape& shape() const { return shape_; }
  DType dtype() const { return dtype_; }
  std::int64_t size() const { return shape_.size(); }
  std::size_t bytes() const { return static_cast<std::size_t>(size()) * size_of(dtype_); }
  bool defined() const { return data_ != nullptr; }
  void* raw() const { return data_; }

  float* f32() const { return static_cast<float*>(data_); }
  std::int32_t* i32() const { return static_cast<std::int32_t*>(data_); }
  View<float> view() const { return {f32(), size()}; }
  View<const float> read() const { return {f32(), size()}; }
  View<const std::int32_t> read_i32() const { return {i32(), size()}; }

  Tensor reshaped(Shape shape) const { return Tensor(data_, std::move(shape), dtype_); }

 private:
  void* data_ = nullptr;
  Shape shape_;
  DType dtype_ = DType::float32;
};

}  // namespace lockstep
