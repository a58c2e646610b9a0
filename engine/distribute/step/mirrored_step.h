// The synchronous mirrored step in six phases, each a function one can find by name.
//
//   replicate -> [ shard -> local_gradients -> all_reduce -> update -> barrier ] for every step
//
// The result equals one device on the whole batch: gradients are weighted by samples, not by replicas.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/distribute/collectives/cross_device_ops.h"
#include "engine/distribute/collectives/sparse_exchange.h"
#include "engine/distribute/replica/phase_times.h"
#include "engine/distribute/replica/replica.h"
#include "engine/losses/loss.h"
#include "engine/metrics/metric.h"
#include "engine/optim/optimizer.h"
#include "engine/tensor/shard.h"
#include "lockstep/flipped_bit.h"
#include "simulator/trace/trace.h"

namespace lockstep {

// A range of the flat gradient buffer, reduced as one message. Bucket 0 is ready first.
struct Bucket {
  std::int64_t first = 0;  // elements
  std::int64_t count = 0;
  std::vector<int> variables;
  int sparse = -1;  // its only variable, where that one's gradient comes by rows
};
std::vector<Bucket> make_buckets(const VariableLayout& layout, std::int64_t bucket_bytes, std::int64_t first_bucket_bytes,
                                 std::int64_t smallest_bytes = 256 << 10);

// LOCKSTEP_GRAPHS, `on` or `off`: whether a step uses CUDA graphs. Off where it says nothing.
bool graphs_from_environment();

struct StepOptions {
  std::uint64_t seed = 0;
  std::int64_t bucket_bytes = 4 << 20;  // at most about so much: they shrink towards the end of backward, see buckets.cc
  std::int64_t first_bucket_bytes = 1 << 20;
  bool check_mirrored = false;  // compare checksums of all replicas after each barrier
  std::optional<FlippedBit> flipped_bit = flipped_bit_from_environment();
  double deadline_seconds = deadline_from_environment();
  bool graphs = graphs_from_environment();                        // forward and backward as CUDA graphs where they are the same every step
  SparseGradients sparse_gradients = SparseGradients::automatic;  // summed as a whole, or by the rows in use where that is less
};

class MirroredStep {
 public:
  MirroredStep(const Graph& graph, std::vector<LogicalGpu*> gpus, std::shared_ptr<CrossDeviceOps> cross_device_ops, StepOptions options,
               Tracer* tracer);
  ~MirroredStep();
  bool comes_to_rest();  // no GPU uses any of it any more; waits for that up to the deadline, once

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

  // The same phases by hand, for custom loops: every replica brings samples of its own, from any thread, one forward and one backward each;
  // then one thread sums the gradients and updates. `backward` returns this replica's part of the mean loss over the global batch.
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
  std::vector<Shard> shard(const Array& x, const Array& y);
  void local_gradients();
  void all_reduce();
  void require_finite_loss();  // between phases 4 and 5
  void update();
  void barrier();
  template <typename Action>
  auto by_hand(Action&& action);
  Array forward_now(int replica, const Array& x);
  double backward_now(int replica, const Array& y, std::int64_t global_batch);
  void finish();  // phases 5 and 6, where this batch completes an update

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lockstep
