// The synchronous mirrored step in six phases, each a function one can find by name (phases.h).
//
//   replicate -> [ shard -> local_gradients -> all_reduce -> update -> barrier ] for every step
//
// The result equals one device on the whole batch: gradients are weighted by samples, not by replicas.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/distribute/collectives/cross_device_ops.h"
#include "engine/distribute/replica/phase_times.h"
#include "engine/distribute/replica/replica.h"
#include "engine/losses/loss.h"
#include "engine/metrics/metric.h"
#include "engine/optim/optimizer.h"
#include "lockstep/step_options.h"
#include "simulator/trace/trace.h"

namespace lockstep {

class MirroredStep {
 public:
  MirroredStep(const Graph& graph, const std::vector<LogicalGpu*>& gpus, const std::shared_ptr<CrossDeviceOps>& cross_device_ops,
               const StepOptions& options, Tracer* tracer);
  ~MirroredStep();
  bool wait_until_idle();  // true: no GPU uses any of it any more. Waits for that up to the deadline, once

  int replicas() const;
  Replica& replica(int index);
  // The last `weighted` metrics see the samples' weights.
  void set_training(std::shared_ptr<LossImpl> loss, std::shared_ptr<OptimizerImpl> optimizer,
                    std::vector<std::shared_ptr<MetricImpl>> metrics, std::size_t weighted = 0);

  void set_tracer(Tracer* tracer);    // null: no tracing
  std::string about() const;          // JSON for a trace: devices, algorithm, layers, variables, buckets
  void set_check_mirrored(bool yes);  // compares the copies after each barrier; one shared copy has none to be compared with
  bool one_copy() const;              // replicas share weights and slots, see one_copy.h
  void set_seed(std::uint64_t seed);  // of what random layers draw from now on

  // Phase 1. Replica 0's variables and slots are copied to all others, bit for bit.
  void replicate();
  // Replica 0's variables or slots were written from outside: phase 1 comes before whatever uses them next, and a trace shows it there.
  void variables_changed();
  void replicate_where_due();

  // Phases 2 to 6 on one global batch. Sums for loss and metrics stay on the GPUs. Weights, where given, are one float a sample: each
  // sample's loss is multiplied by its own, and the mean is still over the number of samples.
  // A loss that is not finite is an Error that names the step and the layer it comes from; the weights are not updated then.
  void train(const Array& x, const Array& y, const Array& weights = {});
  // Phases 2 and a forward pass; sums as above.
  void evaluate(const Array& x, const Array& y, const Array& weights = {});
  // Outputs in the order of the samples.
  Array predict(const Array& x);

  // The same phases one by one, for custom loops: every replica brings samples of its own, from any thread, one forward and one backward
  // each; then one thread sums the gradients and updates. `backward` returns this replica's part of the mean loss over the global batch.
  Array forward(int replica, const Array& x);
  double backward(int replica, const Array& y, std::int64_t global_batch);
  void apply_gradients();

  // Totals over replicas since the last clear: [loss sum, metric sums ...] and the number of samples.
  struct Totals {
    std::vector<double> sums;
    std::int64_t samples = 0;
    double weights = 0;  // of the samples, each 1 where none were given
  };
  // Over the replicas of all workers, who all ask; or of this one only (then `samples` and `weights` are its own too, as far as known).
  Totals totals(bool all_workers = true);
  // Whether any worker says yes; all ask.
  bool any_worker(bool yes);
  bool workers_agree(std::uint64_t value);  // whether all bring the same one
  void clear_totals();

  // What all training steps so far did and where their time went, by replica of this worker, and which one the first of them is among all
  // workers'.
  std::vector<ReplicaTimes> times() const;
  int first_replica() const;

  std::int64_t iterations() const;
  void set_iterations(std::int64_t iterations);

  // Fingerprints of weights, slots and state: one for each copy, so one for each replica, or one in all where they share it.
  std::vector<std::uint64_t> checksums();

 private:
  void finish();  // phases 5 and 6, where this batch completes an update
  template <typename Action>
  auto custom(Action&& action);
  Array custom_forward(int replica, const Array& x);
  double custom_backward(int replica, const Array& y, std::int64_t global_batch);
  std::vector<std::uint64_t> gather(const std::vector<std::uint64_t>& rows, std::size_t width);

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lockstep
