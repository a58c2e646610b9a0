// What stands behind a Model handle: its layers, and, once built, the mirrored step that runs them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/distribute/step/training_step.h"
#include "engine/nn/graph.h"
#include "lockstep/model.h"
#include "lockstep/trace.h"
#include "simulator/trace/trace.h"

namespace lockstep {

struct Model::Impl {
  std::string name;
  std::vector<Layer> layers;  // of a chain
  std::vector<Node> nodes;    // of a functional model
  Strategy strategy = Strategy::current();
  StepOptions options = strategy.step_options();
  std::optional<TrainingPlace> place;  // of the last fit, or of the file that was loaded
  bool fresh = true;                   // the variables are still those the seed gave
  std::shared_ptr<OptimizerImpl> optimizer;
  std::shared_ptr<LossImpl> loss;                    // null until compile, as the optimizer
  std::vector<std::shared_ptr<MetricImpl>> metrics;  // the weighted ones last
  std::size_t weighted_metrics = 0;
  std::unique_ptr<Tracer> tracer;      // while fit traces
  Trace trace;                         // the last one
  std::unique_ptr<Graph> graph;        // made by build
  std::unique_ptr<TrainingStep> step;  // made by build; refers to graph and tracer, so it goes first

  ~Impl();

  bool compiled() const { return loss != nullptr; }
  void build(const Shape& sample);
  void make_step(const Shape& sample);  // the graph and the step, without values
  void rebuild_where_frozen();
  void initialize_variables();
  void hand_over_training();  // tells the step about loss, optimizer and metrics
  void require_built(const char* what) const;
  void require_compiled(const char* what) const;
  TrainingStep& step_for(const char* what) const;  // of a built and compiled model
  void require_trainable(const char* what) const;  // of a built model

  // Means since the totals were last cleared, by Keras' names.
  Logs logs(bool all_workers = true) const;
};

}  // namespace lockstep
