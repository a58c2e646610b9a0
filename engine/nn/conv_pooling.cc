#include "engine/nn/conv_pooling.h"

#include "engine/nn/pooling2d.h"
#include "engine/nn/program.h"

namespace lockstep {
namespace {

class ConvPoolingOp : public LayerOp {
 public:
  ConvPoolingOp(ops::ConvolutionPooling operation, bool use_bias, bool training)
      : operation_(std::move(operation)), use_bias_(use_bias), training_(training) {}

  std::size_t scratch_bytes() const override { return training_ ? operation_.scratch_bytes() : 0; }
  std::size_t saved_bytes() const override { return training_ ? operation_.saved_bytes() : 0; }
  bool needs_output() const override { return false; }

  void forward(const LayerRun& run) override {
    operation_.forward(run.op, run.inputs[0], run.variables[0], use_bias_ ? run.variables[1] : Tensor(), run.output, run.saved);
  }

  void backward(const LayerRun& run) override {
    operation_.backward_filter(run.op, run.inputs[0], run.output_gradient, run.saved, run.gradients[0],
                               use_bias_ ? run.gradients[1] : Tensor());
    if (use_bias_) run.finished(1);
    run.finished(0);
    if (run.input_gradients[0].defined())
      operation_.backward_data(run.op, run.output_gradient, run.saved, run.variables[0], run.input_gradients[0]);
  }

 private:
  ops::ConvolutionPooling operation_;
  bool use_bias_;
  bool training_;
};

}  // namespace

std::unique_ptr<LayerOp> plan_conv_pooling(const LayerPlan& plan, const ops::ConvolutionSpec& spec, ActivationKind activation,
                                           bool use_bias) {
  const auto& pooling = dynamic_cast<const MaxPooling2DImpl&>(*plan.fused.pooling);
  const Shape between{spec.batch, spec.out_height(), spec.out_width(), spec.out_channels};
  const bool training = plan.mode == Mode::training;
  ops::ConvolutionPooling operation(*plan.gpu, spec, pooling.spec(between), activation == ActivationKind::relu,
                                    training && plan.needs_input_gradient);
  return std::make_unique<ConvPoolingOp>(std::move(operation), use_bias, training);
}

}  // namespace lockstep
