// However an operation is cut into parts, the parts together compute it: here more of them than this machine has cores.
#include <tuple>

#include "simulator/gpu/blas/product.h"
#include "simulator/gpu/cudnn/convolution.h"
#include "tests/simulator/gpu/blas/support/matmul.h"
#include "tests/simulator/gpu/cudnn/support/convolution.h"

namespace lockstep::test {
namespace {

TEST(Parts, OfAProductComputeTheWholeProduct) {
  Random random(60);
  for (int i = 0; i < 200; ++i) {
    MatmulCase c = random_matmul(random);
    c.in_place = true;
    MatmulData data = random_data(c, random);
    sim::blas::Description description;
    description.transa = c.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    description.transb = c.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    description.epilogue = c.epilogue;
    const auto layout = [](const Stored& stored) {
      sim::blas::Layout result;
      result.order = stored.order;
      result.rows = static_cast<std::uint64_t>(stored.rows);
      result.cols = static_cast<std::uint64_t>(stored.cols);
      result.ld = stored.ld;
      return result;
    };
    const auto checked = sim::blas::check(description, layout(stored_a(c)), layout(stored_b(c)), layout(stored_c(c)), layout(stored_d(c)));
    ASSERT_EQ(checked.status, CUBLAS_STATUS_SUCCESS) << c.text();
    const bool swapped = checked.product.operands_swapped;
    std::vector<float> out = data.d;
    const int parts = static_cast<int>(random.integer(1, 9));
    for (int part = parts - 1; part >= 0; --part) {
      sim::blas::compute(checked.product, {c.alpha, c.beta}, (swapped ? data.b : data.a).data(), (swapped ? data.a : data.b).data(),
                         out.data(), data.bias.data(), out.data(), part, parts);
    }
    expect_product(c, data, out);
    if (HasFatalFailure()) return;
  }
}

TEST(Parts, OfAConvolutionComputeTheWholeConvolution) {
  Random random(61);
  const Stream stream;
  for (int i = 0; i < 150; ++i) {
    const auto direction = static_cast<Direction>(i % 3);
    ConvolutionCase c = random_convolution(random, direction);
    c.n = random.integer(1, 11);
    c.type = random.chance(50) ? Narrow::f32 : random.chance(50) ? Narrow::f16 : Narrow::bf16;
    ConvolutionData data = random_data(c, random);
    sim::dnn::ConvolutionShape shape;
    shape.direction = static_cast<sim::dnn::Direction>(i % 3);
    shape.n = c.n, shape.c = c.c, shape.h = c.h, shape.w = c.w, shape.k = c.k, shape.r = c.r, shape.s = c.s, shape.groups = c.groups;
    shape.out_h = c.out(0), shape.out_w = c.out(1), shape.pre = c.pre, shape.post = c.post, shape.strides = c.strides,
    shape.dilations = c.dilations;
    const std::vector<std::int64_t> strides = c.filter_strides();
    for (std::size_t d = 0; d < 4; ++d) shape.filter_strides[d] = strides[d];
    shape.alpha = c.alpha, shape.beta = c.beta;
    shape.storage = static_cast<sim::Storage>(c.type);
    const auto plan = std::make_shared<const sim::dnn::ConvolutionPlan>(shape, static_cast<int>(random.integer(1, 9)));
    const DeviceArray x(packed(data.x, c.type)), w(packed(data.w, c.type)), y(packed(data.y, c.type)),
        workspace(plan->workspace_bytes() / sizeof(float) + 1);
    ASSERT_EQ(sim::dnn::ConvolutionPlan::enqueue(plan, stream.get(), {x.data(), w.data(), y.data(), nullptr, nullptr}, workspace.data()),
              cudaSuccess);
    stream.wait();
    const auto& [result, before] = direction == Direction::forward         ? std::tie(y, data.y)
                                   : direction == Direction::backward_data ? std::tie(x, data.x)
                                                                           : std::tie(w, data.w);
    expect_convolution(c, data, unpacked(result.download(), before.size(), c.type));
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace lockstep::test
