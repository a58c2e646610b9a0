// What stands behind a MirroredStep. Phases never see it: mirrored_step.cc gives each the parts that it uses.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "engine/distribute/step/mirrored_step.h"
#include "engine/distribute/step/phases.h"

namespace lockstep {

// A custom loop's step under way: each replica comes from a thread of its own, forward once, then backward once.
struct CustomStep {
  enum class Done { nothing, forward, backward };

  std::mutex begin;     // guards the beginning of a step
  bool failed = false;  // a replica failed in it; the next forward of a replica that was part of it begins another
  std::vector<Done> done;
  std::vector<StepInfo> info;  // of the forward passes
};

struct MirroredStep::State {
  State(const Graph& graph, const std::vector<LogicalGpu*>& gpus, const std::shared_ptr<CrossDeviceOps>& ops, const StepOptions& options,
        Tracer* tracer);

  StepOptions options;
  ReplicaSet replicas;
  GradientBuckets buckets;
  Compiled compiled;
  StepTrace trace;
  StepBatch batch;
  CustomStep custom;
  Totals totals;  // samples and weights since the last clear; sums stay on the GPUs

  bool mirrored = false;  // phase 1 has been done
  bool updating = false;  // some replicas may have the new weights and others not
  std::string broken;     // why no further step is possible, once a replica did not come back
  bool late = false;      // a GPU had not finished when the destructor waited for it

  // Runs `body` with a deadline; when it throws, waits until replicas and GPUs are idle. A late one leaves the step broken.
  void guarded(const std::function<void()>& body);
  void begin(Mode mode, const Array& x, const Array& y, const Array& weights);
  void replicate_if_due();
  void begin_custom(std::size_t replica);
  void count_samples();  // of the step that ended

 private:
  [[noreturn]] void fail(const std::exception& error);
};

}  // namespace lockstep
