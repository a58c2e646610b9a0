// A logical GPU for tests of operations: tensors made from host values and read back.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "engine/ops/elementwise.h"
#include "engine/ops/op_context.h"
#include "simulator/logical/gpu_registry.h"

namespace lockstep::testing {

class OpTest : public ::testing::Test {
 protected:
  LogicalGpu& gpu() { return gpu_; }
  OpContext context(std::size_t scratch_bytes = 0) {
    if (scratch_.bytes() < scratch_bytes) scratch_ = gpu_.arena().allocate(scratch_bytes, "scratch");
    return {&gpu_, &gpu_.compute(), Tensor(scratch_.raw(), Shape{static_cast<std::int64_t>(scratch_.bytes() / 4)})};
  }

  Tensor tensor(const Shape& shape, const std::vector<float>& values) { return upload(shape, values.data(), DType::float32); }
  Tensor labels(const std::vector<std::int32_t>& values) {
    return upload(Shape{static_cast<std::int64_t>(values.size())}, values.data(), DType::int32);
  }
  // Not a number everywhere: what is not written shows.
  Tensor empty(const Shape& shape) { return tensor(shape, std::vector<float>(static_cast<std::size_t>(shape.size()), NAN)); }
  std::vector<float> read(const Tensor& tensor) {
    std::vector<float> values(static_cast<std::size_t>(tensor.size()));
    ops::download(context(), tensor, values.data());
    gpu_.compute().synchronize();
    return values;
  }

 private:
  Tensor upload(const Shape& shape, const void* values, DType dtype) {
    buffers_.push_back(gpu_.arena().allocate(static_cast<std::size_t>(shape.size()) * 4, "a tensor of the test"));
    const Tensor tensor(buffers_.back().raw(), shape, dtype);
    ops::upload(context(), values, tensor);
    gpu_.compute().synchronize();
    return tensor;
  }

  LogicalGpu gpu_{GpuId{}};
  Buffer scratch_;
  std::vector<Buffer> buffers_;
};

}  // namespace lockstep::testing
