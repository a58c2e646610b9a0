// Small models, data and losses for tests of the step.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/distribute/step/mirrored_step.h"
#include "engine/losses/loss.h"
#include "engine/nn/graph.h"
#include "engine/optim/optimizer.h"
#include "tests/engine/distribute/support/gpus.h"

namespace lockstep::testing {

// Its gradient at the logits is logits + 1 / global batch: integers stay integers (of a power of two), so that sums are exact in any
// order and one device can be compared with many bit for bit.
class IntegerLoss : public LossImpl {
 public:
  std::string name() const override { return "integer"; }
  bool from_logits(const Program&) const override { return true; }
  void run(const OpContext& context, const Program& program, const Tensor& labels, std::int64_t global_batch, const Tensor& losses,
           bool training) const override;
  void check_labels(const Array&, const Shape&) const override {}
};

Graph small_graph();  // (6, 6, 1) -> conv 4 3x3 relu -> pool -> dense 8 relu -> dense 3
Graph mnist_graph();

Array integer_samples(const Shape& sample, std::int64_t n, std::uint32_t seed);  // -2 .. 2
Array random_samples(const Shape& sample, std::int64_t n, std::uint32_t seed);
Array labels(std::int64_t n, int classes, std::uint32_t seed);

// Writes the variables of one replica: integers -1 .. 1, or what the initializers say.
void set_integer_weights(Replica& replica, std::uint32_t seed);
void initialize(Replica& replica, std::uint64_t seed);

std::vector<float> download(Replica& replica, const Tensor& tensor);

// A step on GPUs of its own, with integer labels and the first weights of a seed.
struct ReadyStep {
  ReadyStep(const Graph& graph, Gpus there, const std::string& algorithm, const StepOptions& options,
            std::shared_ptr<OptimizerImpl> optimizer)
      : gpus(std::move(there)), step(graph, gpus.pointers, make_cross_device_ops(algorithm), options, nullptr) {
    step.set_training(make_loss("sparse_categorical_crossentropy"), std::move(optimizer), {});
    initialize(step.replica(0), 3);
  }

  Gpus gpus;
  MirroredStep step;
};

}  // namespace lockstep::testing
