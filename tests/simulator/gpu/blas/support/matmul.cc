#include "tests/simulator/gpu/blas/support/matmul.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <sstream>

namespace lockstep::test {
namespace {

Stored stored(std::int64_t rows, std::int64_t cols, cublasLtOrder_t order, std::int64_t pad) {
  return {rows, cols, (order == CUBLASLT_ORDER_COL ? rows : cols) + pad, order};
}

bool has_bias(const MatmulCase& c) { return c.epilogue == CUBLASLT_EPILOGUE_BIAS || c.epilogue == CUBLASLT_EPILOGUE_RELU_BIAS; }
bool has_relu(const MatmulCase& c) { return c.epilogue == CUBLASLT_EPILOGUE_RELU || c.epilogue == CUBLASLT_EPILOGUE_RELU_BIAS; }

}  // namespace

Stored stored_a(const MatmulCase& c) { return stored(c.transpose_a ? c.k : c.m, c.transpose_a ? c.m : c.k, c.order_a, c.pad_a); }
Stored stored_b(const MatmulCase& c) { return stored(c.transpose_b ? c.n : c.k, c.transpose_b ? c.k : c.n, c.order_b, c.pad_b); }
Stored stored_c(const MatmulCase& c) { return c.in_place ? stored_d(c) : stored(c.m, c.n, c.order_c, c.pad_c); }
Stored stored_d(const MatmulCase& c) { return stored(c.m, c.n, c.order_d, c.pad_d); }

std::string MatmulCase::text() const {
  std::ostringstream out;
  out << m << " x " << k << " times " << k << " x " << n << (transpose_a ? " A^T" : "") << (transpose_b ? " B^T" : "") << " orders "
      << order_a << order_b << order_c << order_d << " pads " << pad_a << ' ' << pad_b << ' ' << pad_c << ' ' << pad_d << " epilogue "
      << epilogue << " alpha " << alpha << " beta " << beta << (in_place ? " in place" : "") << (device_scalars ? " device scalars" : "")
      << " types " << static_cast<int>(in_type) << ' ' << static_cast<int>(out_type) << " batches " << batches << " + " << batch_pad
      << (same_a ? " same A" : "") << (same_bias ? " same bias" : "");
  return out.str();
}

MatmulCase random_matmul(Random& random) {
  MatmulCase c;
  const auto size = [&] { return random.chance(20) ? random.integer(1, 3) : random.integer(1, random.chance(15) ? 300 : 70); };
  const auto order = [&] { return random.chance(50) ? CUBLASLT_ORDER_COL : CUBLASLT_ORDER_ROW; };
  const auto pad = [&] { return random.chance(60) ? 0 : random.integer(1, 9); };
  c.m = size();
  c.n = size();
  c.k = size();
  c.transpose_a = random.chance(50);
  c.transpose_b = random.chance(50);
  c.order_a = order();
  c.order_b = order();
  c.order_c = order();
  c.order_d = order();
  c.pad_a = pad();
  c.pad_b = pad();
  c.pad_c = pad();
  c.pad_d = pad();
  constexpr cublasLtEpilogue_t kEpilogues[] = {CUBLASLT_EPILOGUE_DEFAULT, CUBLASLT_EPILOGUE_RELU, CUBLASLT_EPILOGUE_BIAS,
                                               CUBLASLT_EPILOGUE_RELU_BIAS};
  c.epilogue = kEpilogues[random.integer(0, 3)];
  c.alpha = random.chance(60) ? 1.0F : random.real() * 2;
  c.beta = random.chance(50) ? 0.0F : (random.chance(50) ? 1.0F : random.real());
  c.in_place = random.chance(50);
  c.device_scalars = random.chance(15);
  return c;
}

void make_batch(MatmulCase& c, Random& random) {
  c.batches = random.integer(2, 9);
  c.batch_pad = random.chance(50) ? 0 : random.integer(1, 20);
  c.same_a = random.chance(30);
  c.same_bias = random.chance(50);
}

Batched batched(const MatmulCase& c, const Stored& stored, bool same) {
  const std::int64_t stride = same ? 0 : stored.elements() + c.batch_pad;
  return {stride, stride * (c.batches - 1) + stored.elements()};
}

Layout::Layout(const Stored& stored, cudaDataType type) {
  EXPECT_EQ(cublasLtMatrixLayoutCreate(&layout_, type, static_cast<std::uint64_t>(stored.rows), static_cast<std::uint64_t>(stored.cols),
                                       stored.ld),
            CUBLAS_STATUS_SUCCESS);
  set(CUBLASLT_MATRIX_LAYOUT_ORDER, static_cast<std::int32_t>(stored.order));
}

MatmulData random_data(const MatmulCase& c, Random& random) {
  MatmulData data{random.reals(batched(c, stored_a(c), c.same_a).elements), random.reals(batched(c, stored_b(c)).elements),
                  random.reals(batched(c, stored_c(c)).elements), random.reals(batched(c, stored_d(c)).elements),
                  random.reals(c.m * c.batches)};
  for (std::vector<float>* values : {&data.a, &data.b}) {
    for (float& value : *values) value = rounded(value, c.in_type);
  }
  for (std::vector<float>* values : {&data.c, &data.d, &data.bias}) {
    for (float& value : *values) value = rounded(value, c.out_type);
  }
  // With beta 0 nothing may be read of C, not even a NaN.
  if (c.beta == 0.0F) std::fill(data.d.begin(), data.d.end(), std::numeric_limits<float>::quiet_NaN());
  return data;
}

std::vector<float> run_matmul(const BlasHandle& handle, const MatmulCase& c, const MatmulData& data) {
  const auto layout = [&](const Stored& stored, Narrow type, bool same = false) {
    auto made = std::make_unique<Layout>(stored, type == Narrow::f32 ? CUDA_R_32F : type == Narrow::f16 ? CUDA_R_16F : CUDA_R_16BF);
    made->set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(c.batches));
    made->set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, batched(c, stored, same).stride);
    return made;
  };
  const auto layout_a = layout(stored_a(c), c.in_type, c.same_a), layout_b = layout(stored_b(c), c.in_type),
             layout_c = layout(stored_c(c), c.out_type), layout_d = layout(stored_d(c), c.out_type);
  const Layout &a = *layout_a, &b = *layout_b, &c_layout = *layout_c, &d = *layout_d;
  Description description;
  description.set(CUBLASLT_MATMUL_DESC_TRANSA, static_cast<std::int32_t>(c.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N));
  description.set(CUBLASLT_MATMUL_DESC_TRANSB, static_cast<std::int32_t>(c.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N));
  description.set(CUBLASLT_MATMUL_DESC_EPILOGUE, static_cast<std::uint32_t>(c.epilogue));
  if (!c.same_bias) description.set(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, c.m);
  const DeviceArray device_a(packed(data.a, c.in_type)), device_b(packed(data.b, c.in_type)), device_c(packed(data.c, c.out_type)),
      device_d(packed(data.d, c.out_type)), device_bias(packed(data.bias, c.out_type));
  const DeviceArray scalars(std::vector<float>{c.alpha, c.beta});
  if (has_bias(c)) description.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(device_bias.data()));
  float alpha = c.alpha, beta = c.beta;
  const float *alpha_pointer = &alpha, *beta_pointer = &beta;
  if (c.device_scalars) {
    description.set(CUBLASLT_MATMUL_DESC_POINTER_MODE, static_cast<std::int32_t>(CUBLASLT_POINTER_MODE_DEVICE));
    alpha_pointer = scalars.data();
    beta_pointer = scalars.data() + 1;
  }
  cublasLtMatmulPreference_t preference = nullptr;
  EXPECT_EQ(cublasLtMatmulPreferenceCreate(&preference), CUBLAS_STATUS_SUCCESS);
  cublasLtMatmulHeuristicResult_t choice{};
  int found = 0;
  EXPECT_EQ(cublasLtMatmulAlgoGetHeuristic(handle.get(), description.get(), a.get(), b.get(), c_layout.get(), d.get(), preference, 1,
                                           &choice, &found),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(found, 1);
  EXPECT_EQ(cublasLtMatmulPreferenceDestroy(preference), CUBLAS_STATUS_SUCCESS);
  const Stream stream;
  const float* old = c.in_place ? device_d.data() : device_c.data();
  EXPECT_EQ(cublasLtMatmul(handle.get(), description.get(), alpha_pointer, device_a.data(), a.get(), device_b.data(), b.get(), beta_pointer,
                           old, c_layout.get(), device_d.data(), d.get(), &choice.algo, nullptr, 0, stream.get()),
            CUBLAS_STATUS_SUCCESS);
  alpha = beta = std::numeric_limits<float>::quiet_NaN();  // host scalars were read by the call
  stream.wait();
  return unpacked(device_d.download(), data.d.size(), c.out_type);
}

void expect_product(const MatmulCase& c, const MatmulData& data, const std::vector<float>& got) {
  const Stored a = stored_a(c), b = stored_b(c), old = stored_c(c), d = stored_d(c);
  std::vector<bool> inside(got.size(), false);
  for (std::int64_t batch = 0; batch < c.batches; ++batch) {
    const auto at_batch = [&](const Stored& stored, bool same = false) {
      return static_cast<std::size_t>(batch * batched(c, stored, same).stride);
    };
    const std::size_t a0 = at_batch(a, c.same_a), b0 = at_batch(b), old0 = at_batch(old), d0 = at_batch(d),
                      bias0 = static_cast<std::size_t>(c.same_bias ? 0 : batch * c.m);
    for (std::int64_t at = 0; at < c.m * c.n; ++at) {
      const std::int64_t i = at / c.n, j = at % c.n;
      double sum = 0, magnitude = 0;
      for (std::int64_t l = 0; l < c.k; ++l) {
        const double product = static_cast<double>(data.a[a0 + (c.transpose_a ? a.at(l, i) : a.at(i, l))]) *
                               data.b[b0 + (c.transpose_b ? b.at(j, l) : b.at(l, j))];
        sum += product;
        magnitude += std::abs(product);
      }
      sum *= c.alpha;
      magnitude *= std::abs(c.alpha);
      if (c.beta != 0.0F) {
        const double term = static_cast<double>(c.beta) * (c.in_place ? data.d : data.c)[old0 + old.at(i, j)];
        sum += term;
        magnitude += std::abs(term);
      }
      if (has_bias(c)) {
        sum += data.bias[bias0 + static_cast<std::size_t>(i)];
        magnitude += std::abs(data.bias[bias0 + static_cast<std::size_t>(i)]);
      }
      if (has_relu(c)) sum = std::max(sum, 0.0);
      // The bound of a sum of k + 3 rounded terms in any order.
      double bound = static_cast<double>(c.k + 3) * std::numeric_limits<float>::epsilon() * magnitude + 1e-30;
      if (c.out_type != Narrow::f32) bound += half_step(std::abs(sum) + bound, c.out_type);
      inside[d0 + d.at(i, j)] = true;
      ASSERT_NEAR(got[d0 + d.at(i, j)], sum, bound) << c.text() << " at " << i << ", " << j;
    }
  }
  for (std::size_t e = 0; e < got.size(); ++e) {
    if (!inside[e]) {
      ASSERT_EQ(std::memcmp(&got[e], &data.d[e], sizeof(float)), 0) << c.text() << ": wrote into a gap";
    }
  }
}

}  // namespace lockstep::test
