// What every layer promises: shapes, variables, and operations for forward and backward on one replica.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/nn/variables.h"
#include "engine/ops/op_context.h"
#include "lockstep/shape.h"

namespace lockstep {

struct StepInfo;
enum class Mode;

// What a planned layer is given when it runs. Tensors that are not needed are undefined.
struct LayerRun {
  OpContext op;
  const StepInfo* info = nullptr;  // null while a layer that is the same every step is captured
  std::vector<Tensor> inputs;      // (batch, ...)
  Tensor output;
  Tensor output_gradient;               // may be overwritten: nothing reads it after this layer
  std::vector<Tensor> input_gradients;  // to be written whole
  std::vector<Tensor> variables;
  std::vector<Tensor> gradients;  // to be written whole, one for each trainable variable (a frozen layer's are not read)
  std::vector<Tensor> squares;    // of the gradients of sparse variables, where the optimizer wants them
  Tensor saved;                   // what forward keeps for backward

  int first_variable = 0;  // in the model's layout
  const std::function<void(int variable)>* ready = nullptr;
  // Backward calls this for each trainable variable k of the layer, in LayerImpl::ready_order(), right after it issued what
  // finishes that gradient and before it goes on: the earlier it says so, the more of the all-reduce hides behind backward.
  void finished(int k) const {
    if (ready != nullptr && *ready) (*ready)(first_variable + k);
  }
};

// A layer planned for one shape on one replica: convolution plans and the like live here.
class LayerOp {
 public:
  virtual ~LayerOp() = default;
  virtual std::size_t scratch_bytes() const { return 0; }  // needed only while forward or backward runs
  virtual std::size_t saved_bytes() const { return 0; }    // kept from forward to backward
  virtual bool needs_input() const { return true; }        // does backward read the input?
  virtual bool needs_output() const { return true; }       // does backward read the output?
  // One input, and forward may find it where its output goes; then backward always finds both gradients in one place.
  virtual bool in_place() const { return false; }
  // Backward copies the output's gradient to every input's and does no more; where the two lie in one place it need not copy.
  virtual bool hands_gradient_on() const { return false; }
  // Forward and backward look at no LayerRun::info: their operations are the same at every step, and can be kept as a graph.
  virtual bool same_every_step() const { return true; }
  virtual void forward(const LayerRun& run) = 0;
  virtual void backward(const LayerRun& run) = 0;
};

class LayerImpl;

// Zeros around an image.
struct ZeroBorder {
  std::int64_t top = 0, bottom = 0, left = 0, right = 0;
};

// Layers around a layer that run as part of it, without a pass over memory of their own.
struct FusedLayers {
  std::optional<float> relu;           // a ReLU behind it: its upper bound, perhaps infinite
  const LayerImpl* pooling = nullptr;  // a pooling behind it; its output is then the pooled one
  ZeroBorder border;                   // a zero padding before it: its input has no such zeros
};

struct LayerPlan {
  LogicalGpu* gpu = nullptr;
  std::vector<Shape> inputs;  // with the batch
  Shape output;
  Mode mode;
  bool needs_input_gradient = true;
  bool frozen = false;  // not trained: gradients of its variables are not wanted
  FusedLayers fused;
};

class LayerImpl {
 public:
  virtual ~LayerImpl() = default;
  virtual std::string class_name() const = 0;                                           // "Conv2D"
  virtual Shape output_shape(const std::vector<Shape>& inputs) const = 0;               // of one sample; Error where it does not fit
  virtual std::vector<VariableSpec> variables(const std::vector<Shape>& inputs) const;  // names without the layer: "kernel"
  virtual std::unique_ptr<LayerOp> plan(const LayerPlan& plan) const = 0;
  virtual DType input_type() const { return DType::float32; }
  // Called on the host with a batch of the model's input, where this layer takes it: an Error that says what is wrong with it.
  virtual void check_samples(const Array& /*x*/) const {}
  virtual bool is_reshape() const { return false; }  // output is the input under another shape: no copy is made
  // The planned layer then computes the scores; the program applies the softmax behind it, so that a loss can have both.
  virtual bool ends_in_softmax() const { return false; }
  // What can be fused into this layer (FusedLayers) where no other layer reads what lies between the two. `input`: one sample's shape.
  virtual bool takes_relu() const { return false; }
  virtual bool takes_pooling(const LayerImpl& /*pooling*/, const Shape& /*input*/) const { return false; }
  virtual bool takes_border() const { return false; }
  virtual std::optional<float> relu() const { return std::nullopt; }         // this layer is a ReLU and no more: its upper bound
  virtual std::optional<ZeroBorder> border() const { return std::nullopt; }  // this layer puts such zeros around and no more
  virtual bool sums_over_replicas() const { return false; }                  // in training it asks StepInfo::group
  virtual bool is_input() const { return false; }                            // only says the shape of a sample; the graph leaves it out
  // Trainable variables in the order backward finishes their gradients. Default: the last first (bias, then kernel).
  virtual std::vector<int> ready_order(const std::vector<VariableSpec>& variables) const;

  bool trainable() const { return trainable_; }
  void set_trainable(bool yes) { trainable_ = yes; }

  const std::string& name() const { return name_; }
  bool name_given() const { return name_given_; }
  void set_name(std::string name) { name_ = std::move(name), name_given_ = true; }
  void set_automatic_name(std::string name) { name_ = std::move(name), name_given_ = false; }

  // One sample's shape, where the program said it: Input(shape), or the option input_shape of the first layer.
  const std::optional<Shape>& declared_input() const { return declared_input_; }
  void declare_input(Shape sample) { declared_input_ = std::move(sample); }

 protected:
  // Conv2D "c1": got samples of shape (784,); it wants ...
  [[noreturn]] void refuse(const Shape& got, const std::string& wants) const;
  [[noreturn]] void refuse_options(const std::string& why) const;

 private:
  std::string name_;  // Keras' automatic one ("conv2d", "dense_1") unless given
  bool name_given_ = false;
  bool trainable_ = true;
  std::optional<Shape> declared_input_;
};

}  // namespace lockstep
