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

// The model's input, or what a step makes: an activation, and in training its gradient where somebody upstream is trained.
struct PlannedValue {
  Shape shape;  // with the batch
  int producer = -1;
  std::vector<int> consumers;  // steps, in order
  bool wants_gradient = false;
  int memory = kNowhere;
  int gradient = kNowhere;
};

struct PlannedStep {
  const LayerImpl* layer = nullptr;
  std::vector<const LayerImpl*> layers;  // that this step does: its own, and those that need no step of their own, in the model's order
  std::unique_ptr<LayerOp> op;           // none: a reshape, nothing runs
  std::vector<int> inputs;               // values
  int output = 0;
  int first_variable = 0;
  int variable_count = 0;
  bool trained = false;  // has variables that are trained
  bool runs_backward = false;
  std::optional<float> relu;           // the ReLU layer behind this one, done by this step too: its upper bound
  const LayerImpl* pooling = nullptr;  // the pooling layer behind this one, done by this step too

  ZeroBorder border;  // the ZeroPadding2D before this step's layer, done by this step too

  int saved = kNowhere;
  int unread_gradients = kNowhere;  // of a frozen layer's variables: a place to write what nobody reads
  int forward_scratch = kNowhere;
  int backward_scratch = kNowhere;
  std::size_t scratch_bytes = 0;
  std::vector<int> input_gradients;  // where backward writes each input's gradient
  std::vector<bool> adds;            // ... which is then added to what another consumer wrote
};

struct ProgramPlan {
  std::vector<PlannedValue> values;  // 0: the model's input
  std::vector<PlannedStep> steps;
  int output = 0;
  int logits = 0;
  bool softmax_output = false;
  std::vector<Lifetime> lifetimes;
  MemoryPlan memory;
};

ProgramPlan plan_program(const Graph& graph, LogicalGpu& gpu, std::int64_t batch, Mode mode);

}  // namespace lockstep
