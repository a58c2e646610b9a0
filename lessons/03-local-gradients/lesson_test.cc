// The tests of lesson 3. Your file is included before this one.
#include "lesson_test.h"

namespace lesson {

constexpr std::int64_t kNumbers = 5;

// Numbers without a pattern, the same every time, between -1 and 1.
float drawn(std::int64_t i) { return static_cast<float>((i * 7919 + 104729) % 2003) / 1001.5F - 1; }

double loss(const std::vector<double>& w, const float* x, float y) {
  double p = 0;
  for (std::size_t j = 0; j < w.size(); ++j) p += w[j] * x[j];
  return (p - y) * (p - y);
}

// The slope of the loss of one sample along weight j, measured.
double slope(const float* x, float y, const float* w, std::size_t j) {
  std::vector<double> a(w, w + kNumbers), b = a;
  a[j] -= 1e-4;
  b[j] += 1e-4;
  return (loss(b, x, y) - loss(a, x, y)) / 2e-4;
}

TEST(Gradient, AgreesWithTheMeasuredSlope) {
  for (std::int64_t s = 0; s < 6; ++s) {
    std::vector<float> x(kNumbers), w(kNumbers), gradient(kNumbers, 0.0F);
    for (std::size_t j = 0; j < kNumbers; ++j)
      x[j] = drawn(s * 50 + static_cast<std::int64_t>(j)), w[j] = drawn(900 + static_cast<std::int64_t>(j));
    const float y = drawn(s + 3000);
    add_gradient(x.data(), y, w.data(), kNumbers, 1.0F, gradient.data());
    for (std::size_t j = 0; j < kNumbers; ++j) {
      const double measured = slope(x.data(), y, w.data(), j);
      REQUIRE(std::abs(gradient[j] - measured) < 1e-3)
          << "For one sample, d loss / d w[" << j << "] is measured as " << number(measured)
          << " (the weight moved a little both ways), but add_gradient gives " << number(gradient[j]) << ". Their ratio is "
          << number(gradient[j] / measured) << ".";
    }
  }
}

TEST(Gradient, IsWeightedAndAdded) {
  const std::vector<float> x(kNumbers, 1.0F), w(kNumbers, 0.5F);  // p = 2.5, so each part is 2 * (2.5 - 0.5) * 1 = 4
  std::vector<float> gradient(kNumbers, 10.0F);
  add_gradient(x.data(), 0.5F, w.data(), kNumbers, 0.25F, gradient.data());
  EXPECT(gradient[0] == 11) << "There was 10, the gradient is 4 and its weight 0.25: 10 + 0.25 * 4 = 11 should be there now, but it is "
                            << number(gradient[0]) << ".";
}

// Device memory that is freed at the end.
class OnGpu {
 public:
  OnGpu(int device, std::size_t count) {
    cudaSetDevice(device);
    CHECK_CUDA(cudaMalloc(&data_, count * sizeof(float) + 4));
  }
  ~OnGpu() { cudaFree(data_); }
  OnGpu(const OnGpu&) = delete;
  OnGpu& operator=(const OnGpu&) = delete;
  float* data() const { return data_; }

 private:
  float* data_ = nullptr;
};

struct Step {
  Step(std::int64_t samples, int n) : replicas(n, kNumbers, [](int, std::int64_t j) { return drawn(900 + j); }), batch(samples) {
    for (std::int64_t r = 0, first = 0; r < n; ++r) {
      const Range shard{first, samples / n + (r < samples % n)};
      first += shard.count;
      const auto count = static_cast<std::size_t>(shard.count);
      for (const std::size_t size : {count * kNumbers, count, static_cast<std::size_t>(kNumbers)})
        memory.push_back(std::make_unique<OnGpu>(static_cast<int>(r), size));
      const std::size_t at = memory.size() - 3;
      std::vector<float> x, y;
      for (std::int64_t s = shard.first; s < shard.first + shard.count; ++s) {
        for (std::int64_t j = 0; j < kNumbers; ++j) x.push_back(drawn(s * 50 + j));
        y.push_back(drawn(s + 3000));
      }
      if (count > 0) write(memory[at]->data(), x), write(memory[at + 1]->data(), y);
      work.push_back({replicas[static_cast<int>(r)], shard, memory[at]->data(), memory[at + 1]->data(), memory[at + 2]->data(), kNumbers});
    }
  }

  std::vector<float> wanted() const {  // of the whole batch, on one device
    std::vector<double> sum(kNumbers);
    for (std::int64_t s = 0; s < batch; ++s) {
      std::vector<float> x, w;
      for (std::int64_t j = 0; j < kNumbers; ++j) x.push_back(drawn(s * 50 + j)), w.push_back(drawn(900 + j));
      for (std::size_t j = 0; j < kNumbers; ++j) sum[j] += slope(x.data(), drawn(s + 3000), w.data(), j) / static_cast<double>(batch);
    }
    return {sum.begin(), sum.end()};
  }

  std::vector<float> sum() {
    std::vector<float> all(kNumbers);
    for (const LocalWork& one : work) {
      const std::vector<float> local = read(one.gradient, kNumbers);
      for (std::size_t j = 0; j < kNumbers; ++j) all[j] += local[j];
    }
    return all;
  }

  Replicas replicas;
  std::int64_t batch;
  std::vector<std::unique_ptr<OnGpu>> memory;
  std::vector<LocalWork> work;
};

void expect_sum(std::int64_t samples, int n) {
  Step step(samples, n);
  local_gradients(step.work, samples);
  const std::vector<float> got = step.sum(), wanted = step.wanted();
  if (check_mode_complained()) return;
  std::string shards;
  for (const LocalWork& work : step.work) shards += (shards.empty() ? "" : ", ") + std::to_string(work.shard.count);
  EXPECT(first_difference(got, wanted, 1e-3) < 0)
      << samples << " samples on " << n << (n == 1 ? " replica (" : " replicas (") << shards << "): the local gradients add up to\n  "
      << list(got) << "\nbut one device with the whole batch has\n  " << list(wanted)
      << (std::isnan(got[0]) ? std::string("\nNaN comes from uninitialised memory: something was added to it.")
                             : "\nThe ratio of the first numbers is " + number(got[0] / wanted[0]) + ".");
}

TEST(LocalGradients, OneReplicaIsTheWholeBatch) { expect_sum(6, 1); }
TEST(LocalGradients, EvenShardsAddUpToTheWholeBatch) { expect_sum(8, 4); }
TEST(LocalGradients, UnevenShardsAddUpToTheWholeBatch) { expect_sum(10, 4); }
TEST(LocalGradients, EmptyShardsGiveZeros) {
  expect_sum(3, 4);
  if (check_mode_complained()) return;
  Step step(3, 4);
  local_gradients(step.work, 3);
  const std::vector<float> empty = read(step.work[3].gradient, kNumbers);
  if (check_mode_complained()) return;
  EXPECT(first_difference(empty, std::vector<float>(kNumbers)) < 0)
      << "Replica 3 has no samples; its gradient should be 0, 0, 0, 0, 0 and is " << list(empty) << ".";
}

TEST(LocalGradients, EveryStepStartsFromZero) {
  Step step(8, 2);
  local_gradients(step.work, 8);
  const std::vector<float> first = step.sum();
  local_gradients(step.work, 8);
  const std::vector<float> second = step.sum();
  if (check_mode_complained()) return;
  EXPECT(first_difference(first, second) < 0) << "The same step twice gives different gradients. The first time: " << list(first)
                                              << "; the second time: " << list(second) << ". Is the old one still in there?";
}

}  // namespace lesson
