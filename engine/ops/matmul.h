// Matrix products through cuBLASLt: row-major here, column-major in cuBLASLt.
#pragma once

#include <memory>

#include "engine/ops/activation.h"
#include "engine/ops/op_context.h"

namespace lockstep::ops {

// c(m x n) = op(a) * op(b) [+ bias, relu], row-major. Plans (layouts, algorithm, workspace) are made once per shape.
class Matmul {
 public:
  struct Spec {
    std::int64_t m = 0, n = 0, k = 0;
    bool transpose_a = false;  // a is stored k x m
    bool transpose_b = false;  // b is stored n x k
    bool bias = false;         // + bias(n) on every row
    bool relu = false;         // only with bias
  };
  Matmul(LogicalGpu& gpu, const Spec& spec);
  ~Matmul();
  Matmul(Matmul&&) noexcept;
  Matmul& operator=(Matmul&&) noexcept;

  std::size_t scratch_bytes() const;
  void run(const OpContext& context, const Tensor& a, const Tensor& b, const Tensor& bias, const Tensor& c) const;

 private:
  struct Plan;
  std::unique_ptr<Plan> plan_;
};

}  // namespace lockstep::ops
