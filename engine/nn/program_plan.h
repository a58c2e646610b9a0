// What a program will do and where its tensors lie, worked out once from a graph, a batch size and a mode.
//
// Time is a line: 0 upload of the input, 1 ... S the forward steps, S + 1 the loss, then the backward steps down to the first.
// Every tensor is live from the point that writes it to the last point that reads it; memory is shared accordingly.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/nn/graph.h"
#include "engine/nn/memory_planner.h"
#include "engine/nn/program.h"

namespace lockstep {

// Indices into ProgramPlan::memory; kNowhere where there is none.
constexpr int kNowhere = -1;

// The model's input, or what a step makes: an activation, and in training its gradient where a layer before it is trained.
struct PlannedValue {
  Shape shape;  // with the batch
  int producer = -1;
  std::vector<int> consumers;  // steps, in order
  bool wants_gradient = false;
  int memory = kNowhere;
  int gradient = kNowhere;
};

// Where backward writes the gradient of one input, and whether that is then added to what another consumer wrote.
struct PlannedInputGradient {
  int memory = kNowhere;
  bool adds = false;
};

struct PlannedStep {
  const LayerImpl* layer = nullptr;
  std::vector<const LayerImpl*> layers;  // that this step does: its own and the fused ones, in the model's order
  FusedLayers fused;
  std::unique_ptr<LayerOp> op;  // none: a reshape, nothing runs
  std::vector<int> inputs;      // values
  int output = 0;
  VariableRange variables;
  bool trained = false;  // some of them are
  bool runs_backward = false;

  int saved = kNowhere;
  int unread_gradients = kNowhere;  // of a frozen layer's variables: its backward writes them, and no operation reads them
  int forward_scratch = kNowhere;
  int backward_scratch = kNowhere;
  std::vector<PlannedInputGradient> input_gradients;

  bool same_every_step() const { return !op || op->same_every_step(); }
};

struct ProgramPlan {
  DType input_type = DType::float32;
  std::vector<PlannedValue> values;  // 0: the model's input
  std::vector<PlannedStep> steps;
  int output = 0;
  int logits = 0;
  bool softmax_output = false;
  std::vector<Lifetime> lifetimes;
  MemoryPlan memory;
  std::vector<std::size_t> live_bytes;  // by time

  int forward_time(int step) const { return step + 1; }
  int loss_time() const { return static_cast<int>(steps.size()) + 1; }
  int backward_time(int step) const { return 2 * static_cast<int>(steps.size()) + 1 - step; }
};

ProgramPlan plan_program(const Graph& graph, LogicalGpu& gpu, std::int64_t batch, Mode mode);

}  // namespace lockstep
