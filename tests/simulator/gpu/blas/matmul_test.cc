// The virtual cuBLASLt computes every product it accepts.
#include "simulator/gpu/runtime/control.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>

#include "tests/simulator/gpu/blas/support/matmul.h"

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

void make_narrow(MatmulCase& c, Random& random) {
  c.in_type = random.chance(50) ? Narrow::f16 : Narrow::bf16;
  c.out_type = random.chance(60) ? c.in_type : Narrow::f32;
}

TEST(Matmul, OfHalfAndBfloat16EqualsAPlainLoopRoundedOnce) {
  const BlasHandle handle;
  Random random(25);
  for (int i = 0; i < 150; ++i) {
    MatmulCase c = random_matmul(random);
    make_narrow(c, random);
    const MatmulData data = random_data(c, random);
    expect_product(c, data, run_matmul(handle, c, data));
    if (HasFatalFailure()) return;
  }
}

// Whole numbers whose sums are exact in float, but not in 16 bits.
TEST(Matmul, OfHalfAndBfloat16AccumulatesInFloatAndRoundsToNearestEven) {
  const BlasHandle handle;
  Random random(26);
  int inexact = 0;
  for (int i = 0; i < 30; ++i) {
    MatmulCase c = random_matmul(random);
    c.alpha = 1, c.beta = 0;
    MatmulData data = random_data(c, random);
    for (std::vector<float>* values : {&data.a, &data.b, &data.bias}) {
      for (float& value : *values) value = static_cast<float>(random.integer(-60, 60));
    }
    const std::vector<float> exact = run_matmul(handle, c, data);
    c.in_type = c.out_type = i % 2 == 0 ? Narrow::f16 : Narrow::bf16;
    const std::vector<float> got = run_matmul(handle, c, data);
    for (std::size_t e = 0; e < got.size(); ++e) {
      if (std::isnan(exact[e])) continue;  // between columns
      ASSERT_EQ(got[e], rounded(exact[e], c.out_type)) << c.text() << " exactly " << exact[e];
      inexact += got[e] != exact[e] ? 1 : 0;
    }
  }
  EXPECT_GT(inexact, 100);
}

TEST(Matmul, OfABatchEqualsAPlainLoop) {
  const BlasHandle handle;
  Random random(27);
  for (int i = 0; i < 120; ++i) {
    MatmulCase c = random_matmul(random);
    c.m = std::min<std::int64_t>(c.m, 60), c.n = std::min<std::int64_t>(c.n, 60);
    make_batch(c, random);
    if (random.chance(30)) make_narrow(c, random);
    const MatmulData data = random_data(c, random);
    expect_product(c, data, run_matmul(handle, c, data));
    if (HasFatalFailure()) return;
  }
}

TEST(Matmul, EqualsAPlainLoopForTheShapesOfAnMnistStep) {
  const BlasHandle handle;
  Random random(21);
  for (const std::int64_t batch : {1, 16, 32, 64}) {
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

// A host function holds the stream; until it returns the product cannot have run.
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
