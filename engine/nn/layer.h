// What every layer promises: shapes, variables, and operations for forward and backward on one replica.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lockstep/shape.h"
#include "op_context.h"
#include "variables.h"

namespace lockstep {

struct StepInfo;
enum class Mode;

// What a planned layer is given when it runs. Tensors that are not needed are undefined.
struct LayerRun {
  OpContext op;
  const StepInfo* info = nullptr;
  std::vector<Tensor> inputs;           // (batch, ...)
  Tensor output;
  Tensor output_gradient;               // may be overwritten: nobody needs it after this layer
  std::vector<Tensor> input_gradients;  // to be written whole
  std::vector<Tensor> variables;
  std::vector<Tensor> gradients;        // to be written whole, one for each trainable variable
  Tensor saved;                         // what forward keeps for backward
};

// A layer planned for one shape on one replica: convolution plans and the like live here.
class LayerOp {
 public:
  virtual ~LayerOp() = default;
  virtual std::size_t scratch_bytes() const { return 0; }  // needed only while forward or backward runs
  virtual std::size_t saved_bytes() const { return 0; }    // kept from forward to backward
  virtual bool needs_input() const { return true; }        // does backward read the input?
  virtual bool needs_output() const { return true; }       // does backward read the output?
  virtual void forward(const LayerRun& run) = 0;
  virtual void backward(const LayerRun& run) = 0;
};

struct LayerPlan {
  LogicalGpu* gpu = nullptr;
  std::vector<Shape> inputs;  // with the batch
  Shape output;
  Mode mode;
  bool needs_input_gradient = true;
};

class LayerImpl {
 public:
  virtual ~LayerImpl() = default;
  virtual std::string class_name() const = 0;  // "Conv2D"
  virtual Shape output_shape(const std::vector<Shape>& inputs) const = 0;  // of one sample; Error where it does not fit
  virtual std::vector<VariableSpec> variables(const std::vector<Shape>& inputs) const;  // names without the layer: "kernel"
  virtual std::unique_ptr<LayerOp> plan(const LayerPlan& plan) const = 0;
  virtual bool is_reshape() const { return false; }    // output is the input under another shape: no copy is made
  virtual bool ends_in_softmax() const { return false; }

  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }

 private:
  std::string name_;  // Keras' automatic one ("conv2d", "dense_1") unless given
};

}  // namespace lockstep
