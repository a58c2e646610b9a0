#include "engine/nn/batch_normalization.h"

#include <algorithm>

#include "engine/nn/program.h"
#include "engine/ops/batch_norm.h"

namespace lockstep {
namespace {

class BatchNormalizationOp : public LayerOp {
 public:
  BatchNormalizationOp(const ops::BatchNormSpec& spec, bool synchronized, bool training, bool frozen, bool scale, bool center,
                       std::int64_t rows, std::int64_t columns)
      : spec_(spec),
        scratch_(training),
        training_(training && !frozen),
        synchronized_(synchronized),
        gamma_(scale ? 0 : -1),
        beta_(center ? (scale ? 1 : 0) : -1),
        statistics_((scale ? 1 : 0) + (center ? 1 : 0)),
        rows_(rows),
        columns_(columns) {}

  std::size_t scratch_bytes() const override {
    if (!scratch_) return 0;
    const std::size_t backward = ops::batch_norm_scratch(rows_, columns_);
    return synchronized_ ? std::max(backward, ops::batch_norm_synchronized_scratch(rows_, columns_)) : backward;
  }
  std::size_t saved_bytes() const override { return ops::batch_norm_saved(columns_); }
  bool needs_output() const override { return false; }
  bool in_place() const override { return true; }
  bool same_every_step() const override { return !synchronized_ || !training_; }

  void forward(const LayerRun& run) override {
    const ops::BatchNormVariables variables{pick(run.variables, gamma_), pick(run.variables, beta_), pick(run.variables, statistics_),
                                            pick(run.variables, statistics_ + 1)};
    if (training_ && synchronized_) {
      ops::batch_norm_synchronized(run.op, spec_, run.inputs[0], variables, run.saved, run.output, group_of(run));
    } else if (training_) {
      ops::batch_norm_training(run.op, spec_, run.inputs[0], variables, run.saved, run.output);
    } else {
      ops::batch_norm_inference(run.op, spec_, run.inputs[0], variables, run.saved, run.output);
    }
  }

  void backward(const LayerRun& run) override {
    if (!training_) {  // the statistics are constants: a scale, and the ReLU's mask
      if (run.input_gradients[0].defined())
        ops::batch_norm_frozen_input_gradient(run.op, spec_, run.inputs[0], run.saved, run.output_gradient, run.input_gradients[0]);
      return;
    }
    ops::batch_norm_gradient(run.op, spec_, run.inputs[0], run.saved, run.output_gradient, pick(run.gradients, gamma_),
                             pick(run.gradients, beta_));
    if (beta_ >= 0) run.finished(beta_);
    if (gamma_ >= 0) run.finished(gamma_);
    if (run.input_gradients[0].defined())
      ops::batch_norm_input_gradient(run.op, spec_, run.inputs[0], run.saved, run.output_gradient, run.input_gradients[0], group_of(run));
  }

 private:
  // Rows (for images pixels) of all replicas' samples: every sample has as many.
  ops::BatchNormGroup group_of(const LayerRun& run) const {
    if (!synchronized_ || !run.info->group) return {};
    return {run.info->group, run.info->member, rows_ / run.inputs[0].shape()[0] * run.info->global_batch};
  }
  static Tensor pick(const std::vector<Tensor>& tensors, int k) { return k < 0 ? Tensor() : tensors[static_cast<std::size_t>(k)]; }

  ops::BatchNormSpec spec_;
  bool scratch_;                   // backward may come
  bool training_;                  // with the batch's own statistics; a frozen layer never does
  bool synchronized_;              // the batch is that of all replicas
  int gamma_, beta_, statistics_;  // places among the layer's variables; -1 where there is none
  std::int64_t rows_, columns_;
};

}  // namespace

Shape BatchNormalizationImpl::output_shape(const std::vector<Shape>& inputs) const {
  if (!(momentum >= 0 && momentum <= 1)) refuse_options("momentum must be between 0 and 1, not " + std::to_string(momentum));
  if (!(epsilon > 0)) refuse_options("epsilon must be positive, not " + std::to_string(epsilon));
  if (inputs.at(0).rank() < 1 || inputs.at(0).size() <= 0) refuse(inputs.at(0), "at least one axis: (..., channels)");
  return inputs.at(0);
}

std::vector<VariableSpec> BatchNormalizationImpl::variables(const std::vector<Shape>& inputs) const {
  const Shape channels{inputs.at(0)[-1]};
  std::vector<VariableSpec> specs;
  if (scale) specs.push_back({"gamma", channels, true, {Initializer::Kind::ones}});
  if (center) specs.push_back({"beta", channels, true, {Initializer::Kind::zeros}});
  specs.push_back({"moving_mean", channels, false, {Initializer::Kind::zeros}});
  specs.push_back({"moving_variance", channels, false, {Initializer::Kind::ones}});
  return specs;
}

std::unique_ptr<LayerOp> BatchNormalizationImpl::plan(const LayerPlan& plan) const {
  const Shape& x = plan.inputs.at(0);
  ops::BatchNormSpec spec;
  spec.momentum = momentum;
  spec.epsilon = epsilon;
  if (plan.fused.relu) spec.low = 0, spec.high = *plan.fused.relu;
  return std::make_unique<BatchNormalizationOp>(spec, synchronized, plan.mode == Mode::training, plan.frozen, scale, center,
                                                x.size() / x[-1], x[-1]);
}

}  // namespace lockstep
