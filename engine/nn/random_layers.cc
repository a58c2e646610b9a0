#include "engine/nn/random_layers.h"

#include "engine/nn/program.h"
#include "engine/ops/image.h"
#include "engine/ops/pointwise.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

// FNV-1a of the layer's name, which is unique in a model: two layers never draw the same numbers.
std::uint32_t layer_key(const std::string& name) {
  std::uint32_t hash = 2166136261U;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash;
}

kernels::RandomKey key_for(const LayerRun& run, std::uint32_t layer) {
  return {run.info->seed, run.info->step, run.info->first_sample, layer};
}

class DropoutOp : public LayerOp {
 public:
  DropoutOp(float rate, std::uint32_t layer) : rate_(rate), layer_(layer) {}
  bool needs_input() const override { return false; }
  bool same_every_step() const override { return false; }
  bool needs_output() const override { return false; }
  bool in_place() const override { return true; }
  void forward(const LayerRun& run) override { ops::dropout(run.op, key_for(run, layer_), rate_, run.inputs[0], run.output); }
  void backward(const LayerRun& run) override {
    ops::dropout(run.op, key_for(run, layer_), rate_, run.output_gradient, run.input_gradients[0]);
  }

 private:
  float rate_;
  std::uint32_t layer_;
};

class RandomFlipOp : public LayerOp {
 public:
  RandomFlipOp(bool horizontal, bool vertical, std::uint32_t layer) : horizontal_(horizontal), vertical_(vertical), layer_(layer) {}
  bool needs_input() const override { return false; }
  bool same_every_step() const override { return false; }
  bool needs_output() const override { return false; }
  void forward(const LayerRun& run) override {
    ops::random_flip(run.op, key_for(run, layer_), horizontal_, vertical_, run.inputs[0], run.output);
  }
  void backward(const LayerRun& run) override {
    ops::random_flip(run.op, key_for(run, layer_), horizontal_, vertical_, run.output_gradient, run.input_gradients[0]);
  }

 private:
  bool horizontal_, vertical_;
  std::uint32_t layer_;
};

}  // namespace

Shape DropoutImpl::output_shape(const std::vector<Shape>& inputs) const {
  if (!(rate >= 0 && rate < 1)) refuse_options("rate must be at least 0 and below 1, not " + std::to_string(rate));
  return inputs.at(0);
}

std::unique_ptr<LayerOp> DropoutImpl::plan(const LayerPlan& plan) const {
  if (plan.mode != Mode::training || rate == 0) return nullptr;
  return std::make_unique<DropoutOp>(rate, layer_key(name()));
}

RandomFlipImpl::RandomFlipImpl(const std::string& mode) {
  horizontal = mode == "horizontal" || mode == "horizontal_and_vertical";
  vertical = mode == "vertical" || mode == "horizontal_and_vertical";
  if (!horizontal && !vertical)
    throw Error("RandomFlip: there is no mode \"" + mode + "\"; there are: horizontal, vertical, horizontal_and_vertical");
}

Shape RandomFlipImpl::output_shape(const std::vector<Shape>& inputs) const {
  if (inputs.at(0).rank() != 3 || inputs.at(0).size() <= 0) refuse(inputs.at(0), "images: (height, width, channels), such as (96, 96, 3)");
  return inputs.at(0);
}

std::unique_ptr<LayerOp> RandomFlipImpl::plan(const LayerPlan& plan) const {
  if (plan.mode != Mode::training) return nullptr;
  return std::make_unique<RandomFlipOp>(horizontal, vertical, layer_key(name()));
}

}  // namespace lockstep
