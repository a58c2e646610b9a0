// A graph of layers made ready to run: one replica, one batch size, one mode, all memory planned.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/nn/graph.h"
#include "engine/nn/layer.h"
#include "engine/nn/variables.h"
#include "engine/ops/replica_group.h"
#include "engine/tensor/tensor.h"
#include "simulator/logical/logical_gpu.h"

namespace lockstep {

// What a layer may need to know about the step it takes part in. Random layers draw from Philox keyed by
// (seed, layer, step, global sample index), so their draws do not depend on the number of replicas.
struct StepInfo {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  std::int64_t first_sample = 0;  // index of this replica's first sample in the global batch
  std::int64_t global_batch = 0;
  ReplicaGroup* group = nullptr;  // the replicas that have samples in this step; null where a layer may not ask them
  int member = 0;                 // this replica among them
};

enum class Mode { training, inference };

// Activation memory of a replica, shared by its programs: they never run at the same time. Grows, never shrinks.
class Workspace {
 public:
  Workspace(LogicalGpu& gpu, std::string owner) : gpu_(&gpu), owner_(std::move(owner)) {}
  void* reserve(std::size_t bytes);                         // waits for the GPU before it grows
  std::uint64_t generation() const { return generation_; }  // changes when addresses do
  LogicalGpu& gpu() const { return *gpu_; }

 private:
  LogicalGpu* gpu_;
  std::string owner_;
  Buffer buffer_;
  std::uint64_t generation_ = 0;
};

// What is issued at once: a layer, several that run as one (a convolution and the pooling behind it), or a CUDA graph of many.
struct LayerWork {
  std::vector<const LayerImpl*> layers;  // in the model's order
  bool backward = false;
  bool graph = false;
  std::size_t live_bytes = 0;  // activations and gradients that the memory plan keeps at this time; of a graph, the most
};

// Called before and after work is issued, for a trace. What is issued is the same with and without it.
class LayerWatcher {
 public:
  virtual ~LayerWatcher() = default;
  virtual void begin(const LayerWork& work) = 0;
  virtual void end() = 0;
};

class Program {
 public:
  Program(const Graph& graph, VariableStore& variables, Workspace& workspace, std::int64_t batch, Mode mode);
  ~Program();

  std::int64_t batch() const;
  Tensor input() const;              // (batch, ...): upload here before forward
  Tensor output() const;             // valid after forward
  Tensor logits() const;             // the scores before a final softmax; the same as output() where there is none
  bool softmax_output() const;       // the last layer ends in a softmax
  std::size_t memory_bytes() const;  // of the workspace that this program uses
  // Where the loss writes its gradient: with respect to logits() or, when `from_output`, to output().
  Tensor logits_gradient() const;
  Tensor output_gradient() const;

  // `after`, where given, is called when a layer's operations were issued: forward can be followed layer by layer.
  void forward(const StepInfo& info, const std::function<void(const LayerImpl& layer, const Tensor& output)>& after = nullptr);
  // Calls `ready(variable)` right after the operations that finish a variable's gradient were issued on the compute stream,
  // in the layout's ready order. `from_logits`: the loss wrote logits_gradient(); else output_gradient().
  void backward(const StepInfo& info, bool from_logits, const std::function<void(int variable)>& ready);

  // Keeps what does not change from step to step as CUDA graphs, from the second run on. `segment_ends`, by variable: where `ready` should
  // not wait for more of backward to be issued. Null: every operation is issued by itself. The results are the same, bit for bit.
  void use_graphs(const std::vector<bool>* segment_ends);
  int graphs() const;  // captured so far

  // Null: there is no watcher.
  void watch(LayerWatcher* watcher);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lockstep
