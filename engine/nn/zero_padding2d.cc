#include "engine/nn/zero_padding2d.h"

#include "engine/ops/image.h"

namespace lockstep {
namespace {

class ZeroPadding2DOp : public LayerOp {
 public:
  explicit ZeroPadding2DOp(const ops::PaddingSpec& spec) : spec_(spec) {}
  bool needs_input() const override { return false; }
  bool needs_output() const override { return false; }
  void forward(const LayerRun& run) override { ops::zero_padding(run.op, spec_, run.inputs[0], run.output); }
  void backward(const LayerRun& run) override { ops::zero_padding_gradient(run.op, spec_, run.output_gradient, run.input_gradients[0]); }

 private:
  ops::PaddingSpec spec_;
};

}  // namespace

Shape ZeroPadding2DImpl::output_shape(const std::vector<Shape>& inputs) const {
  const Shape& image = inputs.at(0);
  if (top < 0 || bottom < 0 || left < 0 || right < 0) refuse_options("padding must not be negative");
  if (image.rank() != 3 || image.size() <= 0) refuse(image, "images: (height, width, channels), such as (224, 224, 3)");
  return Shape{image[0] + top + bottom, image[1] + left + right, image[2]};
}

std::unique_ptr<LayerOp> ZeroPadding2DImpl::plan(const LayerPlan& plan) const {
  const Shape& x = plan.inputs.at(0);
  return std::make_unique<ZeroPadding2DOp>(ops::PaddingSpec{x[0], x[1], x[2], x[3], top, bottom, left, right});
}

}  // namespace lockstep
