#include "engine/nn/bound_program.h"

#include "engine/ops/elementwise.h"

namespace lockstep {

BoundProgram::BoundProgram(ProgramPlan plan, VariableStore& variables, Workspace& workspace)
    : plan_(std::move(plan)), variables_(&variables), workspace_(&workspace) {
  bind();
}

Tensor BoundProgram::at(int memory, const Shape& shape) const {
  if (memory == kNowhere) return {};
  return {static_cast<char*>(base_) + plan_.memory.offsets[static_cast<std::size_t>(memory)], shape};
}

Tensor BoundProgram::bytes_at(int memory) const {
  if (memory == kNowhere) return {};
  const std::size_t bytes = plan_.lifetimes[static_cast<std::size_t>(memory)].bytes;
  return at(memory, Shape{static_cast<std::int64_t>((bytes + sizeof(float) - 1) / sizeof(float))});
}

bool BoundProgram::rebind_if_moved() {
  if (bound_to_ == std::pair(workspace_->generation(), variables_->generation())) return false;
  bind();
  return true;
}

void BoundProgram::bind() {
  base_ = workspace_->reserve(plan_.memory.total);
  bound_to_ = {workspace_->generation(), variables_->generation()};
  steps_.clear();
  for (const PlannedStep& step : plan_.steps) steps_.push_back(bind(step));
}

BoundProgram::Step BoundProgram::bind(const PlannedStep& step) const {
  LayerRun run;
  run.op = OpContext{&workspace_->gpu(), &stream(), bytes_at(step.forward_scratch)};
  run.saved = bytes_at(step.saved);
  run.output = activation(step.output);
  for (const int input : step.inputs) run.inputs.push_back(activation(input));
  run.first_variable = step.variables.first;
  for (int v = step.variables.first; v < step.variables.end; ++v) run.variables.push_back(variables_->variable(v));

  LayerRun back = run;
  back.op.scratch = bytes_at(step.backward_scratch);
  back.output_gradient = gradient(step.output);
  for (int v = step.variables.first; v < step.variables.end; ++v) {
    const VariableSpec& spec = layout().specs()[static_cast<std::size_t>(v)];
    back.gradients.push_back(spec.trainable ? variables_->gradient(v) : at(step.unread_gradients, spec.shape));
    back.squares.push_back(variables_->squares(v));
  }
  std::vector<std::pair<Tensor, Tensor>> sums;
  for (std::size_t k = 0; k < step.input_gradients.size(); ++k) {
    const auto& [memory, adds] = step.input_gradients[k];
    back.input_gradients.push_back(at(memory, value(step.inputs[k]).shape));
    if (adds) sums.emplace_back(back.input_gradients.back(), gradient(step.inputs[k]));
  }
  return {std::move(run), std::move(back), std::move(sums)};
}

void BoundProgram::forward(std::size_t step, const StepInfo* info) {
  LayerOp* op = plan_.steps[step].op.get();
  if (op == nullptr) return;
  LayerRun& run = steps_[step].forward;
  run.info = info;
  op->forward(run);
  run.info = nullptr;
}

void BoundProgram::backward(std::size_t step, const StepInfo* info, bool skips_layer, const Ready& ready) {
  const PlannedStep& planned = plan_.steps[step];
  if (!planned.runs_backward) return;
  if (planned.op && !skips_layer) {
    const Ready trained = [&](int variable) {
      if (!layout().specs()[static_cast<std::size_t>(variable)].frozen) ready(variable);
    };
    LayerRun& run = steps_[step].backward;
    run.info = info;
    run.ready = &trained;
    planned.op->backward(run);
    run.info = nullptr;
    run.ready = nullptr;
  }
  const OpContext context{&workspace_->gpu(), &stream(), {}};
  for (const auto& [from, to] : steps_[step].sums) ops::add(context, from, to);
}

}  // namespace lockstep
