// What a strategy holds: the logical GPUs its replicas live on and the algorithm that sums their gradients.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/distribute/collectives/cross_device_ops.h"
#include "engine/distribute/replica/replica_threads.h"
#include "engine/distribute/step/training_step.h"
#include "lockstep/strategy.h"
#include "simulator/logical/logical_gpu.h"

namespace lockstep {

struct Strategy::Impl {
  // `kind` is the class's name, for describe(). An empty algorithm is chosen for the devices.
  Impl(std::string kind, std::vector<GpuId> ids, const std::string& algorithm);
  // With an algorithm of its own, as several workers have it.
  Impl(std::string kind, std::vector<GpuId> ids, std::shared_ptr<CrossDeviceOps> cross_device_ops, std::string why);
  virtual ~Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  // What trains a model of this strategy: the mirrored step, unless a kind of strategy has another one.
  virtual std::unique_ptr<TrainingStep> make_step(const Graph& graph, const StepOptions& options, Tracer* tracer);
  const std::vector<GpuId>& ids() const { return ids_; }
  std::vector<LogicalGpu*> logical_gpus() const;  // in replica order
  const std::shared_ptr<CrossDeviceOps>& cross_device_ops() const { return cross_device_ops_; }
  WorkerPlace place() const { return cross_device_ops_->place(static_cast<int>(ids_.size())); }
  std::string describe() const;
  const StepOptions& step_options() const { return step_options_; }
  void set_step_options(const StepOptions& options) { step_options_ = options; }
  // On every replica's own host thread, at once. Not from inside such a function.
  void run(const std::function<void(ReplicaContext&)>& function);

 private:
  std::string kind_;
  std::vector<GpuId> ids_;
  std::vector<std::unique_ptr<LogicalGpu>> gpus_;
  std::shared_ptr<CrossDeviceOps> cross_device_ops_;
  std::string why_;
  StepOptions step_options_ = step_options_from_environment();
  std::mutex running_;
  std::unique_ptr<ReplicaThreads> threads_;  // made by the first run
};

// An Error where `what` of something made with this strategy makes no sense: inside another strategy's scope, which does not reach what was
// made outside, or on the thread of one replica. No scope at all is fine: what was made in one may be used after it.
void require_own_scope(const Strategy& strategy, const std::string& what);

}  // namespace lockstep
