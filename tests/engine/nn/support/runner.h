// A model on one replica, run directly through its Program: host values in, host values out.
#pragma once

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "engine/nn/graph.h"
#include "engine/nn/program.h"
#include "engine/nn/variables.h"
#include "lockstep/layers.h"
#include "simulator/logical/logical_gpu.h"

namespace lockstep::test {

using Values = std::vector<float>;

std::vector<std::shared_ptr<LayerImpl>> impls(const std::vector<Layer>& layers);

Values random_values(std::int64_t count, std::mt19937& random, float low = -1, float high = 1);

// Owns one GPU and everything a model needs on it.
class Runner {
 public:
  Runner(Graph graph, std::int64_t batch, Mode mode = Mode::training);
  Runner(const std::vector<Layer>& layers, const Shape& sample, std::int64_t batch, Mode mode = Mode::training)
      : Runner(Graph::chain(impls(layers), sample), batch, mode) {}

  LogicalGpu gpu;
  Graph graph;
  VariableStore variables;
  Workspace workspace;
  Program program;
  StepInfo info;
  std::vector<int> finished;  // variables, in the order backward reported them

  OpContext context() { return {&gpu, &gpu.compute(), {}}; }
  void randomize(std::mt19937& random, float width = 1);
  Values variable(int index) const;
  Values gradient(int index);

  Values forward(const Values& x) { return forward(program, x); }
  Values forward(Program& which, const Values& x);
  void backward(const Values& gradient, bool from_logits = false);

  Values read(const Tensor& tensor);
  void write(const Tensor& tensor, const void* values);
  void poison();  // fills the activation memory with NaN: what was not written shows
};

// A layer whose output is its variable, and whose gradient is what arrives: it makes another layer's input a variable, so
// that the gradient with respect to it can be seen.
std::shared_ptr<LayerImpl> make_probe(std::int64_t batch, const Shape& sample);

// y = the sum of its inputs: what a residual connection needs.
std::shared_ptr<LayerImpl> make_sum();

}  // namespace lockstep::test
