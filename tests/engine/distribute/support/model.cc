#include "tests/engine/distribute/support/model.h"

#include <random>

#include "engine/ops/elementwise.h"
#include "lockstep/layers.h"

namespace lockstep::testing {
namespace {

std::vector<std::shared_ptr<LayerImpl>> implementations(const std::vector<Layer>& layers) {
  std::vector<std::shared_ptr<LayerImpl>> result;
  for (const Layer& layer : layers) result.push_back(layer.impl());
  return result;
}

void write(Replica& replica, int variable, const std::vector<float>& values) {
  ops::upload(replica.compute_context(), values.data(), replica.variables().variable(variable));
  replica.gpu().compute().synchronize();
}

}  // namespace

void IntegerLoss::run(const OpContext& context, const Program& program, const Tensor& /*labels*/, std::int64_t global_batch,
                      const Tensor& losses, bool training) const {
  ops::fill(context, 1.0F, losses);
  if (!training) return;
  ops::fill(context, 1.0F / static_cast<float>(global_batch), program.logits_gradient());
  ops::add(context, program.logits(), program.logits_gradient());
}

Graph small_graph() {
  return Graph::chain(implementations({Conv2D(4, 3, "relu"), MaxPooling2D(2), Flatten(), Dense(8, "relu"), Dense(3)}), {6, 6, 1});
}

Graph mnist_graph() {
  return Graph::chain(implementations({Conv2D(32, 3, "relu"), MaxPooling2D(2), Flatten(), Dense(128, "relu"), Dense(10)}), {28, 28, 1});
}

Array integer_samples(const Shape& sample, std::int64_t n, std::uint32_t seed) {
  std::mt19937 random(seed);
  Array x(sample.batched(n));
  for (std::int64_t i = 0; i < x.size(); ++i) x.data<float>()[i] = static_cast<float>(static_cast<int>(random() % 5) - 2);
  return x;
}

Array random_samples(const Shape& sample, std::int64_t n, std::uint32_t seed) {
  std::mt19937 random(seed);
  Array x(sample.batched(n));
  for (std::int64_t i = 0; i < x.size(); ++i) x.data<float>()[i] = static_cast<float>(random() % 1024) / 1024.0F;
  return x;
}

Array labels(std::int64_t n, int classes, std::uint32_t seed) {
  std::mt19937 random(seed);
  Array y({n}, DType::int32);
  for (std::int64_t i = 0; i < n; ++i) y.data<std::int32_t>()[i] = static_cast<std::int32_t>(random() % static_cast<unsigned>(classes));
  return y;
}

void set_integer_weights(Replica& replica, std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto& specs = replica.variables().layout().specs();
  for (std::size_t v = 0; v < specs.size(); ++v) {
    std::vector<float> values(static_cast<std::size_t>(specs[v].shape.size()));
    for (float& value : values) value = static_cast<float>(static_cast<int>(random() % 3) - 1);
    write(replica, static_cast<int>(v), values);
  }
}

void initialize(Replica& replica, std::uint64_t seed) {
  const auto& specs = replica.variables().layout().specs();
  for (std::size_t v = 0; v < specs.size(); ++v) write(replica, static_cast<int>(v), specs[v].initializer.values(specs[v].shape, seed, v));
}

std::vector<float> download(Replica& replica, const Tensor& tensor) {
  std::vector<float> values(static_cast<std::size_t>(tensor.size()));
  ops::download(replica.compute_context(), tensor, values.data());
  replica.gpu().compute().synchronize();
  return values;
}

}  // namespace lockstep::testing
