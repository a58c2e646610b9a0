// What a model asks of its strategy: to train on a batch, to evaluate, to predict, and to read and write variables. Each kind of strategy
// makes a step of its own kind (Strategy::Impl::make_step); a model does not know which one it has.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/losses/loss.h"
#include "engine/metrics/metric.h"
#include "engine/nn/variables.h"
#include "engine/optim/optimizer.h"
#include "lockstep/array.h"
#include "lockstep/replica_report.h"
#include "simulator/trace/trace.h"

namespace lockstep {

class TrainingStep {
 public:
  // Over replicas since the last clear: [loss sum, metric sums ...] and the number of samples.
  struct Totals {
    std::vector<double> sums;
    std::int64_t samples = 0;
    double weights = 0;  // of the samples, each 1 where none were given
  };

  TrainingStep() = default;
  virtual ~TrainingStep() = default;
  TrainingStep(const TrainingStep&) = delete;
  TrainingStep& operator=(const TrainingStep&) = delete;
  virtual bool wait_until_idle() = 0;  // true: no GPU uses any of it any more. Waits for that up to the deadline, once

  // The last `weighted` metrics see the samples' weights.
  virtual void set_training(std::shared_ptr<LossImpl> loss, std::shared_ptr<OptimizerImpl> optimizer,
                            std::vector<std::shared_ptr<MetricImpl>> metrics, std::size_t weighted = 0) = 0;
  virtual void set_tracer(Tracer* tracer) = 0;    // null: no tracing
  virtual std::string about() const = 0;          // JSON for a trace: devices, algorithm, layers, variables, buckets
  virtual void set_check_mirrored(bool yes) = 0;  // compares the copies after each step
  virtual void set_seed(std::uint64_t seed) = 0;  // of what random layers draw from now on
  virtual void replicate_where_due() = 0;         // copies of variables that were written from outside follow

  // One global batch. Sums for loss and metrics stay on the GPUs. Weights, where given, are one float a sample: each sample's loss is
  // multiplied by its own, and the mean is still over the number of samples.
  // A loss that is not finite is an Error that names the step and the layer it comes from; the weights are not updated then.
  virtual void train(const Array& x, const Array& y, const Array& weights = {}) = 0;
  // A forward pass; sums as above.
  virtual void evaluate(const Array& x, const Array& y, const Array& weights = {}) = 0;
  // Outputs in the order of the samples.
  virtual Array predict(const Array& x) = 0;

  // A step in parts, for custom loops: every replica brings samples of its own, from any thread, one forward and one backward each; then
  // one thread sums the gradients and updates. `backward` returns this replica's part of the mean loss over the global batch.
  virtual Array forward(int replica, const Array& x) = 0;
  virtual double backward(int replica, const Array& y, std::int64_t global_batch) = 0;
  virtual void apply_gradients() = 0;

  // Over the replicas of all workers, who all ask; or of this one only (then `samples` and `weights` are its own too, as far as known).
  virtual Totals totals(bool all_workers = true) = 0;
  virtual void clear_totals() = 0;
  // Whether any worker says yes; all ask.
  virtual bool any_worker(bool yes) = 0;
  virtual bool workers_agree(std::uint64_t value) = 0;  // whether all bring the same one

  virtual std::vector<ReplicaReport> reports() = 0;  // of this worker's replicas
  virtual std::int64_t iterations() const = 0;
  virtual void set_iterations(std::int64_t iterations) = 0;
  // Fingerprints of weights, slots and state: one for each copy, so one for each replica, or one in all where they share it.
  virtual std::vector<std::uint64_t> checksums() = 0;

  // Variables as Keras lists them, on the host; indices are those of the graph's layout. Copies follow a write after variables_changed.
  virtual Array read(int variable, VariablePart part = {}) = 0;
  virtual void write(int variable, const Array& values, VariablePart part = {}) = 0;
  virtual void variables_changed() = 0;
};

}  // namespace lockstep
