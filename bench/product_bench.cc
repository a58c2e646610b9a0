// Products of a dense layer whose batch is divided among GPUs: the virtual cuBLASLt against oneDNN's sgemm called directly, on one thread.
// Every replica has matrices of its own, and a turn goes over all of them, as a step does: what one leaves in the cache, the others' push
// out. Only added gradients have one place in common: every replica adds its own to those before it. Shapes that are not for
// blas/skinny_product.h go to sgemm on both sides.
//
//   sgemm_us, ours_us             a product, the median of all turns; they take turns, so that both see the same machine
//   sgemm_gflops, ours_gflops     the same as arithmetic
//   ratio                         sgemm / ours: above 1, ours is faster
//   difference, sgemm_difference  from double precision, relative to the magnitudes of an element's terms: the largest of all elements
#include <benchmark/benchmark.h>
#include <dnnl.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "simulator/gpu/blas/product.h"

namespace {

using lockstep::sim::blas::Product;

// x (batch x in), w (in x out), y (batch x out)
enum Direction { kForward, kInputGradient, kWeightGradient, kAddedGradient };
constexpr const char* kDirections[] = {"forward", "input_gradient", "weight_gradient", "added_gradient"};

struct Layer {
  const char* name;
  std::int64_t in, out, batch, replicas;
};

// The dense layers of MNIST (batch of 128 over 8, 4, 2 GPUs, on one) and Reuters (32 over 8, 4, 2).
constexpr Layer kLayers[] = {
    {"mnist", 5408, 128, 16, 8},    {"mnist", 5408, 128, 32, 4}, {"mnist", 5408, 128, 64, 2}, {"mnist", 5408, 128, 128, 1},
    {"mnist_last", 128, 10, 16, 8}, {"reuters", 2368, 46, 4, 8}, {"reuters", 2368, 46, 8, 4}, {"reuters", 2368, 46, 16, 2},
};

Product product_of(const Layer& layer, Direction direction) {
  const bool of_weights = direction == kWeightGradient || direction == kAddedGradient;
  Product product;
  product.rows = of_weights ? layer.in : layer.batch;
  product.cols = direction == kInputGradient ? layer.in : layer.out;
  product.depth = direction == kForward ? layer.in : direction == kInputGradient ? layer.out : layer.batch;
  product.left_transposed = of_weights;
  product.right_transposed = direction == kInputGradient;
  product.left_ld = product.left_transposed ? product.rows : product.depth;
  product.right_ld = product.right_transposed ? product.depth : product.cols;
  product.out_ld = product.cols;
  product.c_row_stride = product.cols;
  product.c_col_stride = 1;
  return product;
}

// Device memory comes in whole pages; so it is here.
class Matrix {
 public:
  explicit Matrix(std::int64_t elements) : elements_(static_cast<std::size_t>(elements)), storage_(elements_ + kPage) {
    const auto address = reinterpret_cast<std::uintptr_t>(storage_.data()) / sizeof(float);
    data_ = storage_.data() + (kPage - address % kPage) % kPage;
  }
  float* data() { return data_; }
  const float* data() const { return data_; }
  void fill(std::mt19937& random) {
    std::uniform_real_distribution<float> value(-1, 1);
    for (std::size_t i = 0; i < elements_; ++i) data_[i] = value(random);
  }

 private:
  static constexpr std::size_t kPage = 1024;  // floats
  std::size_t elements_;
  std::vector<float> storage_;
  float* data_;
};

struct Replica {
  Matrix left, right, own;
  float* out;
  explicit Replica(const Product& product)
      : left(product.rows * product.depth), right(product.depth * product.cols), own(product.rows * product.cols), out(own.data()) {}
};

void by_sgemm(const Product& product, float beta, Replica& at) {
  dnnl_sgemm(product.left_transposed ? 'T' : 'N', product.right_transposed ? 'T' : 'N', product.rows, product.cols, product.depth, 1,
             at.left.data(), product.left_ld, at.right.data(), product.right_ld, beta, at.out, product.out_ld);
}

void ours(const Product& product, float beta, Replica& at) {
  lockstep::sim::blas::compute(product, {1, beta}, at.left.data(), at.right.data(), at.out, nullptr, at.out, 0, 1);
}

// What is in `out`, from the sum of these replicas' products.
double difference(const Product& product, std::span<const Replica> replicas, const float* out) {
  double worst = 0;
  std::vector<double> sums(static_cast<std::size_t>(product.cols)), magnitudes(sums.size());
  for (std::int64_t i = 0; i < product.rows; ++i) {
    std::fill(sums.begin(), sums.end(), 0.0);
    std::fill(magnitudes.begin(), magnitudes.end(), 0.0);
    for (const Replica& at : replicas) {
      for (std::int64_t d = 0; d < product.depth; ++d) {
        const double left = at.left.data()[product.left_transposed ? d * product.left_ld + i : i * product.left_ld + d];
        for (std::size_t j = 0; j < sums.size(); ++j) {
          const auto column = static_cast<std::int64_t>(j);
          const double term =
              left * at.right.data()[product.right_transposed ? column * product.right_ld + d : d * product.right_ld + column];
          sums[j] += term;
          magnitudes[j] += std::abs(term);
        }
      }
    }
    for (std::size_t j = 0; j < sums.size(); ++j) {
      worst = std::max(worst, std::abs(out[i * product.out_ld + static_cast<std::int64_t>(j)] - sums[j]) / magnitudes[j]);
    }
  }
  return worst;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

void dense(benchmark::State& state, const Layer& layer, Direction direction) {
  omp_set_num_threads(1);
  const Product product = product_of(layer, direction);
  std::mt19937 random(1);
  std::vector<Replica> replicas;
  for (std::int64_t r = 0; r < layer.replicas; ++r) {
    replicas.emplace_back(product);
    replicas.back().left.fill(random);
    replicas.back().right.fill(random);
  }
  const bool added = direction == kAddedGradient;
  if (added) {
    for (Replica& replica : replicas) replica.out = replicas[0].out;
  }
  const auto turn = [&](auto&& compute) {
    const auto start = std::chrono::steady_clock::now();
    for (Replica& replica : replicas) compute(product, added ? 1.0F : 0.0F, replica);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / static_cast<double>(layer.replicas);
  };
  const auto difference_of = [&](auto&& compute) {
    std::fill_n(replicas[0].out, product.rows * product.cols, 0.0F);
    turn(compute);
    return difference(product, std::span(replicas).first(added ? replicas.size() : 1), replicas[0].out);
  };
  const double sgemm_difference = difference_of(by_sgemm), our_difference = difference_of(ours);
  std::vector<double> sgemm_seconds, our_seconds;
  for ([[maybe_unused]] auto _ : state) {
    sgemm_seconds.push_back(turn(by_sgemm));
    our_seconds.push_back(turn(ours));
    state.SetIterationTime(our_seconds.back() * static_cast<double>(layer.replicas));
  }
  const double flops = 2.0 * static_cast<double>(product.rows * product.cols * product.depth);
  const double sgemm = median(sgemm_seconds), mine = median(our_seconds);
  state.counters["sgemm_us"] = sgemm * 1e6;
  state.counters["ours_us"] = mine * 1e6;
  state.counters["sgemm_gflops"] = flops / sgemm * 1e-9;
  state.counters["ours_gflops"] = flops / mine * 1e-9;
  state.counters["ratio"] = sgemm / mine;
  state.counters["difference"] = our_difference;
  state.counters["sgemm_difference"] = sgemm_difference;
}

const int registered = [] {
  for (const Layer& layer : kLayers) {
    for (const Direction direction : {kForward, kInputGradient, kWeightGradient, kAddedGradient}) {
      const std::string name = std::string(layer.name) + "/" + std::to_string(layer.batch) + "/" + kDirections[direction];
      benchmark::RegisterBenchmark(name.c_str(), [&layer, direction](benchmark::State& state) { dense(state, layer, direction); })
          ->UseManualTime()
          ->Unit(benchmark::kMicrosecond)
          ->MinTime(0.2);
    }
  }
  return 0;
}();

}  // namespace
