// What an operation of the libraries says that it touches is exactly what it touches: check mode finds a race or an uninitialised read
// where there is one, and none between neighbours. In processes of their own, since check mode is chosen once.
#include <cstdlib>

#include "tests/simulator/gpu/blas/support/matmul.h"
#include "tests/simulator/gpu/cudnn/support/convolution.h"

namespace lockstep::test {
namespace {

void in_check_mode(const char* checks) {
  if (setenv("LOCKSTEP_SIM_CHECK", checks, 1) != 0) std::exit(2);
}

// A 4 x 4 product into rows `row` ... `row` + 3 of an 8 x 4 matrix stored by columns.
void product_into_rows(const BlasHandle& handle, const Stream& stream, const DeviceArray& a, const DeviceArray& d, int row) {
  const Layout small(Stored{4, 4, 4, CUBLASLT_ORDER_COL}), part(Stored{4, 4, 8, CUBLASLT_ORDER_COL});
  const Description description;
  const float alpha = 1, beta = 0;
  EXPECT_EQ(cublasLtMatmul(handle.get(), description.get(), &alpha, a.data(), small.get(), a.data(), small.get(), &beta, d.data() + row,
                           part.get(), d.data() + row, part.get(), nullptr, nullptr, 0, stream.get()),
            CUBLAS_STATUS_SUCCESS);
}

cudaError_t two_products_at_once(int first_row, int second_row) {
  const BlasHandle handle;
  const Stream one, other;
  const DeviceArray a(std::vector<float>(16, 1.0F)), d(std::size_t{32});
  product_into_rows(handle, one, a, d, first_row);
  product_into_rows(handle, other, a, d, second_row);
  return cudaDeviceSynchronize();
}

TEST(TouchesDeathTest, OfProductsIntoNeighbouringRowsAreApart) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run = [] {
    in_check_mode("race");
    std::_Exit(two_products_at_once(0, 4) == cudaSuccess ? 0 : 1);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

TEST(TouchesDeathTest, OfProductsThatShareARowCollide) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run = [] {
    in_check_mode("race");
    std::_Exit(two_products_at_once(0, 3) == cudaSuccess ? 1 : 0);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

// A fused convolution whose bias was never written, and the same with one that was.
cudaError_t convolution_with_bias(bool written) {
  ConvolutionCase c;
  c.n = 2, c.c = 3, c.h = c.w = 6, c.k = 4, c.r = c.s = 3;
  c.bias = true;
  const DnnHandle handle;
  const Descriptor plan = make_plan(handle, make_heuristic(make_graph(handle, c)));
  const DeviceArray x(static_cast<std::size_t>(c.image_elements())), w(static_cast<std::size_t>(c.filter_elements())),
      y(static_cast<std::size_t>(c.output_elements())), workspace(static_cast<std::size_t>(workspace_of(plan)) / sizeof(float) + 1);
  void* bias = nullptr;
  EXPECT_EQ(cudaMalloc(&bias, 256), cudaSuccess);
  if (written) {
    EXPECT_EQ(cudaMemset(bias, 0, static_cast<std::size_t>(c.k) * sizeof(float)), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }
  EXPECT_EQ(
      cudnnBackendExecute(handle.get(), plan.raw(), make_pack({x.data(), w.data(), y.data(), x.data(), bias}, workspace.data()).raw()),
      CUDNN_STATUS_SUCCESS);
  return cudaDeviceSynchronize();
}

TEST(TouchesDeathTest, OfAFusedConvolutionHoldItsBias) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto written = [] {
    in_check_mode("memory");
    std::_Exit(convolution_with_bias(true) == cudaSuccess ? 0 : 1);
  };
  EXPECT_EXIT(written(), testing::ExitedWithCode(0), "");
  const auto unwritten = [] {
    in_check_mode("memory");
    std::_Exit(convolution_with_bias(false) == cudaSuccess ? 1 : 0);
  };
  EXPECT_EXIT(unwritten(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace lockstep::test
