// The virtual cuBLASLt computes every product it accepts.
#include <control.h>

#include <atomic>
#include <cstring>

#include "support/matmul.h"

namespace lockstep::test {
namespace {

TEST(Matmul, EqualsAPlainLoopForAllOrdersTransposesEpiloguesAndScalars) {
  const BlasHandle handle;
  Random random(20);
  for (int i = 0; i < 400; ++i) {
    const MatmulCase c = random_matmul(random);
    const MatmulData data = random_data(c, random);
    expect_product(c, data, run_matmul(handle, c, data));
    if (HasFatalFailure()) return;
  }
}

TEST(Matmul, EqualsAPlainLoopForTheShapesOfAnMnistStep) {
  const BlasHandle handle;
  Random random(21);
  for (const std::int64_t batch : {1, 32, 64}) {
    // Column-major as a row-major caller uses it: D^T = W^T X^T, dW^T = dY^T X, dX^T = W dY^T.
    MatmulCase forward, gradient, back;
    forward.m = 128, forward.n = batch, forward.k = 5408, forward.epilogue = CUBLASLT_EPILOGUE_RELU_BIAS;
    gradient.m = 128, gradient.n = 5408, gradient.k = batch, gradient.transpose_b = true;
    back.m = 5408, back.n = batch, back.k = 128, back.transpose_a = true;
    for (const MatmulCase& c : {forward, gradient, back}) {
      const MatmulData data = random_data(c, random);
      expect_product(c, data, run_matmul(handle, c, data));
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Matmul, GivesTheSameBitsEveryTimeAndUnderEverySchedule) {
  const BlasHandle handle;
  Random random(22);
  for (int i = 0; i < 12; ++i) {
    MatmulCase c = random_matmul(random);
    c.m += 200;
    c.n += 200;
    c.k += 100;
    const MatmulData data = random_data(c, random);
    const std::vector<float> first = run_matmul(handle, c, data);
    for (const std::uint64_t seed : {0, 1, 2, 77}) {
      sim::set_schedule_seed(seed);
      const std::vector<float> again = run_matmul(handle, c, data);
      sim::set_schedule_seed(0);
      ASSERT_EQ(std::memcmp(first.data(), again.data(), first.size() * sizeof(float)), 0) << c.text() << " seed " << seed;
    }
  }
}

// The product of a chain of copies and products on one stream can only be right if each waits for the one before.
TEST(Matmul, RunsInTheOrderOfItsStream) {
  const BlasHandle handle;
  const Stream stream;
  constexpr std::int64_t kSize = 96;
  const Layout square(Stored{kSize, kSize, kSize, CUBLASLT_ORDER_COL});
  const Description description;
  const std::size_t elements = kSize * kSize, bytes = elements * sizeof(float);
  std::vector<float> doubling(elements, 0.0F);
  for (std::int64_t i = 0; i < kSize; ++i) doubling[static_cast<std::size_t>(i * kSize + i)] = 2.0F;
  const DeviceArray factor(doubling), one(elements), two(elements);
  for (const std::uint64_t seed : {0, 5, 6}) {
    sim::set_schedule_seed(seed);
    float* host = nullptr;
    ASSERT_EQ(cudaMallocHost(reinterpret_cast<void**>(&host), bytes), cudaSuccess);
    for (std::size_t i = 0; i < elements; ++i) host[i] = static_cast<float>(i % 7);
    const float alpha = 1, beta = 0;
    ASSERT_EQ(cudaMemcpyAsync(one.data(), host, bytes, cudaMemcpyHostToDevice, stream.get()), cudaSuccess);
    for (int turn = 0; turn < 5; ++turn) {
      ASSERT_EQ(cublasLtMatmul(handle.get(), description.get(), &alpha, factor.data(), square.get(), one.data(), square.get(), &beta,
                               two.data(), square.get(), two.data(), square.get(), nullptr, nullptr, 0, stream.get()),
                CUBLAS_STATUS_SUCCESS);
      ASSERT_EQ(cudaMemcpyAsync(one.data(), two.data(), bytes, cudaMemcpyDeviceToDevice, stream.get()), cudaSuccess);
    }
    ASSERT_EQ(cudaMemcpyAsync(host, one.data(), bytes, cudaMemcpyDeviceToHost, stream.get()), cudaSuccess);
    stream.wait();
    sim::set_schedule_seed(0);
    for (std::size_t i = 0; i < elements; ++i) ASSERT_EQ(host[i], 32.0F * static_cast<float>(i % 7)) << "element " << i << " seed " << seed;
    ASSERT_EQ(cudaFreeHost(host), cudaSuccess);
  }
}

// A host function holds the stream; until it is let go the product cannot have run.
TEST(Matmul, IsNotDoneBeforeItsStreamReachesIt) {
  const BlasHandle handle;
  const Stream stream;
  struct Hold {
    std::atomic<bool> go{false};
  } hold;
  const DeviceArray a(std::vector<float>{3}), b(std::vector<float>{4}), d(std::vector<float>{-1}), seen(std::vector<float>{0});
  const Layout scalar(Stored{1, 1, 1, CUBLASLT_ORDER_COL});
  const Description description;
  float alpha = 1, beta = 0;
  ASSERT_EQ(cudaLaunchHostFunc(
                stream.get(),
                [](void* data) {
                  while (!static_cast<Hold*>(data)->go.load()) {
                  }
                },
                &hold),
            cudaSuccess);
  ASSERT_EQ(cublasLtMatmul(handle.get(), description.get(), &alpha, a.data(), scalar.get(), b.data(), scalar.get(), &beta, d.data(),
                           scalar.get(), d.data(), scalar.get(), nullptr, nullptr, 0, stream.get()),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cudaStreamQuery(stream.get()), cudaErrorNotReady);
  alpha = beta = -5;  // were read by the call
  hold.go = true;
  stream.wait();
  EXPECT_EQ(d.download()[0], 12.0F);
}

}  // namespace
}  // namespace lockstep::test
