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
#include "engine/distribute/step/training_step.h"
#include "lockstep/step_options.h"

namespace lockstep {

class MirroredStep : public TrainingStep {
 public:
  MirroredStep(const Graph& graph, const std::vector<LogicalGpu*>& gpus, const std::shared_ptr<CrossDeviceOps>& cross_device_ops,
               const StepOptions& options, Tracer* tracer);
  ~MirroredStep() override;
  bool wait_until_idle() override;

  int replicas() const;
  Replica& replica(int index);
  bool one_copy() const;  // replicas share weights and slots, see one_copy.h
  void set_training(std::shared_ptr<LossImpl> loss, std::shared_ptr<OptimizerImpl> optimizer,
                    std::vector<std::shared_ptr<MetricImpl>> metrics, std::size_t weighted = 0) override;
  void set_tracer(Tracer* tracer) override;
  std::string about() const override;
  void set_check_mirrored(bool yes) override;  // one shared copy has none to be compared with
  void set_seed(std::uint64_t seed) override;

  // Phase 1. Replica 0's variables and slots are copied to all others, bit for bit.
  void replicate();
  // Replica 0's variables or slots were written from outside: phase 1 comes before whatever uses them next, and a trace shows it there.
  void variables_changed() override;
  void replicate_where_due() override;

  // Phases 2 to 6 on one global batch; phase 2 and a forward pass.
  void train(const Array& x, const Array& y, const Array& weights = {}) override;
  void evaluate(const Array& x, const Array& y, const Array& weights = {}) override;
  Array predict(const Array& x) override;

  // The same phases one by one, see custom_step.cc.
  Array forward(int replica, const Array& x) override;
  double backward(int replica, const Array& y, std::int64_t global_batch) override;
  void apply_gradients() override;

  Totals totals(bool all_workers = true) override;
  void clear_totals() override;
  bool any_worker(bool yes) override;
  bool workers_agree(std::uint64_t value) override;
  // What all training steps so far did and where their time went, by replica of this worker.
  std::vector<ReplicaTimes> times() const;
  std::vector<ReplicaReport> reports() override;
  std::int64_t iterations() const override;
  void set_iterations(std::int64_t iterations) override;
  std::vector<std::uint64_t> checksums() override;

  // Of replica 0.
  Array read(int variable, VariablePart part = {}) override;
  void write(int variable, const Array& values, VariablePart part = {}) override;

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
