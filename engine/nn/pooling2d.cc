#include "engine/nn/pooling2d.h"

#include "engine/ops/image.h"

namespace lockstep {
namespace {

class MaxPooling2DOp : public LayerOp {
 public:
  explicit MaxPooling2DOp(const ops::PoolingSpec& spec) : spec_(spec) {}
  void forward(const LayerRun& run) override { ops::max_pooling(run.op, spec_, run.inputs[0], run.output); }
  void backward(const LayerRun& run) override {
    ops::max_pooling_gradient(run.op, spec_, run.inputs[0], run.output, run.output_gradient, run.input_gradients[0]);
  }

 private:
  ops::PoolingSpec spec_;
};

class AveragePooling2DOp : public LayerOp {
 public:
  explicit AveragePooling2DOp(const ops::PoolingSpec& spec) : spec_(spec) {}
  bool needs_input() const override { return false; }
  bool needs_output() const override { return false; }
  void forward(const LayerRun& run) override { ops::average_pooling(run.op, spec_, run.inputs[0], run.output); }
  void backward(const LayerRun& run) override { ops::average_pooling_gradient(run.op, spec_, run.output_gradient, run.input_gradients[0]); }

 private:
  ops::PoolingSpec spec_;
};

class GlobalAveragePooling2DOp : public LayerOp {
 public:
  bool needs_input() const override { return false; }
  bool needs_output() const override { return false; }
  void forward(const LayerRun& run) override { ops::global_average_pooling(run.op, run.inputs[0], run.output); }
  void backward(const LayerRun& run) override { ops::global_average_pooling_gradient(run.op, run.output_gradient, run.input_gradients[0]); }
};

}  // namespace

Shape Pooling2DImpl::output_shape(const std::vector<Shape>& inputs) const {
  require_positive("pool_size and strides");
  const Shape grid = places(inputs.at(0), "pool", "(26, 26, 32)");
  return Shape{grid[0], grid[1], inputs[0][2]};
}

ops::PoolingSpec Pooling2DImpl::spec(const Shape& images) const {
  ops::PoolingSpec spec;
  slide_over(images, spec);
  spec.channels = images[3];
  return spec;
}

std::unique_ptr<LayerOp> MaxPooling2DImpl::plan(const LayerPlan& plan) const {
  return std::make_unique<MaxPooling2DOp>(spec(plan.inputs.at(0)));
}

std::unique_ptr<LayerOp> AveragePooling2DImpl::plan(const LayerPlan& plan) const {
  return std::make_unique<AveragePooling2DOp>(spec(plan.inputs.at(0)));
}

Shape GlobalPooling2DImpl::output_shape(const std::vector<Shape>& inputs) const {
  const Shape& image = inputs.at(0);
  if (image.rank() != 3 || image.size() <= 0) refuse(image, "images: (height, width, channels), such as (7, 7, 1280)");
  return keepdims ? Shape{1, 1, image[2]} : Shape{image[2]};
}

std::unique_ptr<LayerOp> GlobalMaxPooling2DImpl::plan(const LayerPlan& plan) const {
  const Shape& x = plan.inputs.at(0);
  ops::PoolingSpec spec;
  spec.batch = x[0], spec.height = x[1], spec.width = x[2], spec.channels = x[3];
  spec.kernel_h = spec.stride_h = x[1];
  spec.kernel_w = spec.stride_w = x[2];
  return std::make_unique<MaxPooling2DOp>(spec);
}

std::unique_ptr<LayerOp> GlobalAveragePooling2DImpl::plan(const LayerPlan& /*plan*/) const {
  return std::make_unique<GlobalAveragePooling2DOp>();
}

}  // namespace lockstep
