#include "engine/nn/max_pooling2d.h"

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

}  // namespace

Shape MaxPooling2DImpl::output_shape(const std::vector<Shape>& inputs) const {
  if (pool.height <= 0 || pool.width <= 0 || strides.height <= 0 || strides.width <= 0)
    refuse_options("pool_size and strides must be positive");
  const Shape& image = inputs.at(0);
  if (image.rank() != 3 || image.size() <= 0) refuse(image, "images: (height, width, channels), such as (26, 26, 32)");
  const WindowAxis rows = slide(image[0], pool.height, strides.height, padding);
  const WindowAxis columns = slide(image[1], pool.width, strides.width, padding);
  if (rows.out <= 0 || columns.out <= 0)
    refuse(image, "images at least as large as its pool, " + std::to_string(pool.height) + " x " + std::to_string(pool.width) +
                      ", or padding(\"same\")");
  return Shape{rows.out, columns.out, image[2]};
}

ops::PoolingSpec MaxPooling2DImpl::spec(const Shape& x) const {
  ops::PoolingSpec spec;
  spec.batch = x[0], spec.height = x[1], spec.width = x[2], spec.channels = x[3];
  spec.pool_h = pool.height, spec.pool_w = pool.width, spec.stride_h = strides.height, spec.stride_w = strides.width;
  const WindowAxis rows = slide(x[1], pool.height, strides.height, padding);
  const WindowAxis columns = slide(x[2], pool.width, strides.width, padding);
  spec.pad_top = rows.before, spec.pad_bottom = rows.after, spec.pad_left = columns.before, spec.pad_right = columns.after;
  return spec;
}

std::unique_ptr<LayerOp> MaxPooling2DImpl::plan(const LayerPlan& plan) const {
  return std::make_unique<MaxPooling2DOp>(spec(plan.inputs.at(0)));
}

Shape GlobalMaxPooling2DImpl::output_shape(const std::vector<Shape>& inputs) const {
  const Shape& image = inputs.at(0);
  if (image.rank() != 3 || image.size() <= 0) refuse(image, "images: (height, width, channels), such as (7, 7, 1280)");
  return keepdims ? Shape{1, 1, image[2]} : Shape{image[2]};
}

std::unique_ptr<LayerOp> GlobalMaxPooling2DImpl::plan(const LayerPlan& plan) const {
  const Shape& x = plan.inputs.at(0);
  ops::PoolingSpec spec;
  spec.batch = x[0], spec.height = x[1], spec.width = x[2], spec.channels = x[3];
  spec.pool_h = spec.stride_h = x[1];
  spec.pool_w = spec.stride_w = x[2];
  return std::make_unique<MaxPooling2DOp>(spec);
}

}  // namespace lockstep
