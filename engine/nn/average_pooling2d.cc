#include "engine/nn/average_pooling2d.h"

#include "engine/ops/image.h"

namespace lockstep {
namespace {

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

Shape AveragePooling2DImpl::output_shape(const std::vector<Shape>& inputs) const {
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

std::unique_ptr<LayerOp> AveragePooling2DImpl::plan(const LayerPlan& plan) const {
  const Shape& x = plan.inputs.at(0);
  ops::PoolingSpec spec;
  spec.batch = x[0], spec.height = x[1], spec.width = x[2], spec.channels = x[3];
  spec.pool_h = pool.height, spec.pool_w = pool.width, spec.stride_h = strides.height, spec.stride_w = strides.width;
  const WindowAxis rows = slide(x[1], pool.height, strides.height, padding);
  const WindowAxis columns = slide(x[2], pool.width, strides.width, padding);
  spec.pad_top = rows.before, spec.pad_bottom = rows.after, spec.pad_left = columns.before, spec.pad_right = columns.after;
  return std::make_unique<AveragePooling2DOp>(spec);
}

Shape GlobalAveragePooling2DImpl::output_shape(const std::vector<Shape>& inputs) const {
  const Shape& image = inputs.at(0);
  if (image.rank() != 3 || image.size() <= 0) refuse(image, "images: (height, width, channels), such as (7, 7, 1280)");
  return keepdims ? Shape{1, 1, image[2]} : Shape{image[2]};
}

std::unique_ptr<LayerOp> GlobalAveragePooling2DImpl::plan(const LayerPlan& /*plan*/) const {
  return std::make_unique<GlobalAveragePooling2DOp>();
}

}  // namespace lockstep
