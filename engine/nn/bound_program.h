// A planned program at its addresses: for each step what its layer is given when it runs, which is the same at every step of training.
//
// Addresses change when another program makes the shared workspace grow, and when sums of squares are made or dropped
// (VariableStore::generation). Then everything is bound again.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "engine/nn/program.h"
#include "engine/nn/program_plan.h"

namespace lockstep {

class BoundProgram {
 public:
  using Ready = std::function<void(int variable)>;

  BoundProgram(ProgramPlan plan, VariableStore& variables, Workspace& workspace);
  bool rebind_if_moved();  // true: what was captured with the old addresses is of no use

  const ProgramPlan& plan() const { return plan_; }
  const VariableLayout& layout() const { return variables_->layout(); }
  Stream& stream() const { return workspace_->gpu().compute(); }
  Tensor input() const { return Tensor(activation(0).raw(), value(0).shape, plan_.input_type); }
  Tensor activation(int i) const { return at(value(i).memory, value(i).shape); }  // of PlannedValue i
  Tensor gradient(int i) const { return at(value(i).gradient, value(i).shape); }

  // Issues one step of the plan. `info` is null in a capture.
  void forward(std::size_t step, const StepInfo* info);
  // `skips_layer`: a softmax whose gradient the loss has included. `ready` gets the trained variables whose gradients are complete.
  void backward(std::size_t step, const StepInfo* info, bool skips_layer, const Ready& ready);

 private:
  struct Step {
    LayerRun forward, backward;                   // only `info` and `ready` change from call to call
    std::vector<std::pair<Tensor, Tensor>> sums;  // after backward each first is added to its second, which another layer wrote before
  };
  void bind();
  Step bind(const PlannedStep& step) const;
  const PlannedValue& value(int i) const { return plan_.values[static_cast<std::size_t>(i)]; }
  Tensor at(int memory, const Shape& shape) const;
  Tensor bytes_at(int memory) const;

  ProgramPlan plan_;
  VariableStore* variables_;
  Workspace* workspace_;
  void* base_ = nullptr;
  std::pair<std::uint64_t, std::uint64_t> bound_to_;  // generations of workspace and variables
  std::vector<Step> steps_;
};

}  // namespace lockstep
