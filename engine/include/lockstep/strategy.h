// Where a model's variables live and how its replicas stay equal.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "lockstep/distributed_dataset.h"
#include "lockstep/logical.h"
#include "lockstep/per_replica.h"
#include "lockstep/step_options.h"

namespace lockstep {

// By name: NcclAllReduce(), RingAllReduce(), TreeAllReduce(), HierarchicalCopyAllReduce(), ReductionToOneDevice(), OneCopy(); empty: chosen
// for the devices, and never OneCopy().
struct CrossDeviceOpsName {
  std::string name;
};
inline CrossDeviceOpsName NcclAllReduce() { return {"nccl"}; }
inline CrossDeviceOpsName RingAllReduce() { return {"ring"}; }
inline CrossDeviceOpsName TreeAllReduce() { return {"tree"}; }
inline CrossDeviceOpsName HierarchicalCopyAllReduce() { return {"hierarchical-copy"}; }
inline CrossDeviceOpsName ReductionToOneDevice() { return {"one-device"}; }
inline CrossDeviceOpsName OneCopy() { return {"one-copy"}; }  // not mirrored: logical GPUs of one card share one copy of the variables
std::vector<std::string> cross_device_ops_names();            // all of them, as `lockstep run --all-reduce` takes them

// A handle; copies name the same strategy. Models made inside a scope live on all its replicas.
class Strategy {
 public:
  int num_replicas_in_sync() const;  // of all workers
  int worker() const;                // which process this is, counted from 0; worker 0 prints and saves
  int workers() const;
  const std::vector<GpuId>& gpus() const&;
  std::vector<GpuId> gpus() && { return std::as_const(*this).gpus(); }
  std::string cross_device_ops() const;  // the algorithm in use
  std::string describe() const;          // one line: which algorithm and why
  // How the steps of its models run; for models that are made from now on.
  const StepOptions& step_options() const&;
  StepOptions step_options() && { return std::as_const(*this).step_options(); }
  void set_step_options(const StepOptions& options) const;

  // Python's `with strategy.scope():`.
  template <typename Function>
  auto scope(Function&& function) const {
    const ScopeGuard guard(*this);
    return std::forward<Function>(function)();
  }
  class ScopeGuard {
   public:
    explicit ScopeGuard(const Strategy& strategy);
    ~ScopeGuard();
    ScopeGuard(const ScopeGuard&) = delete;
    ScopeGuard& operator=(const ScopeGuard&) = delete;
  };

  // Calls function(context, argument of this replica ...) on every replica at once, each on a host thread of its own; the context may
  // be left out. Returns when all have returned: what they gave, by replica. An Error of one ends all of them and names it.
  template <typename Function, typename... Arguments>
  auto run(Function&& function, const PerReplica<Arguments>&... arguments) const {
    const auto call = [&](ReplicaContext& context) -> decltype(auto) {
      if constexpr (std::is_invocable_v<Function&, ReplicaContext&, const Arguments&...>) {
        return function(context, arguments[context.replica_id_in_sync_group()]...);
      } else {
        return function(arguments[context.replica_id_in_sync_group()]...);
      }
    };
    using Result = std::decay_t<decltype(call(std::declval<ReplicaContext&>()))>;
    if constexpr (std::is_void_v<Result>) {
      run_on_replicas([&](ReplicaContext& context) { call(context); });
    } else {
      std::vector<std::optional<Result>> results(static_cast<std::size_t>(num_replicas_in_sync()));
      run_on_replicas(
          [&](ReplicaContext& context) { results[static_cast<std::size_t>(context.replica_id_in_sync_group())].emplace(call(context)); });
      std::vector<Result> values;
      for (std::optional<Result>& result : results) values.push_back(std::move(*result));
      return PerReplica<Result>(std::move(values));
    }
  }

  // Over replicas, added in their order.
  double reduce(ReduceOp op, const PerReplica<double>& value) const;
  Array reduce(ReduceOp op, const PerReplica<Array>& value) const;
  // Over replicas and along that axis, so that replicas with more samples count for more.
  Array reduce(ReduceOp op, const PerReplica<Array>& value, int axis) const;
  // The replicas' arrays one behind the other along that axis.
  Array gather(const PerReplica<Array>& value, int axis = 0) const;

  // Global batches, each cut among the replicas; some may get none of a short one.
  DistributedDataset distribute(const Dataset& dataset) const;
  // The function makes the dataset of this process, batched for one replica; replicas take batches in turn.
  DistributedDataset distribute_from_function(const std::function<Dataset(const InputContext&)>& function) const;

  // A scope's own losses: sum / global batch, so that adding up the replicas' results is the mean over the global batch. Without a
  // global batch size: as if all replicas had as many samples as this one.
  double compute_average_loss(const Array& per_example_loss, const Array& sample_weight = {}, std::int64_t global_batch_size = 0) const;

  struct Impl;
  const std::shared_ptr<Impl>& impl() const& { return impl_; }
  std::shared_ptr<Impl> impl() && { return std::move(impl_); }
  // The strategy of the innermost scope of this thread; outside any, one device: the first GPU.
  static Strategy current();
  static const void* scope_identity();  // of that strategy, only to be compared; null outside any scope

 protected:
  explicit Strategy(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  void run_on_replicas(const std::function<void(ReplicaContext&)>& function) const;
  std::shared_ptr<Impl> impl_;
};

class OneDeviceStrategy : public Strategy {
 public:
  explicit OneDeviceStrategy(const GpuId& gpu = {});
  explicit OneDeviceStrategy(const std::string& name);
};

// Synchronous training on several GPUs, one replica each. Without arguments: all GPUs there are.
class MirroredStrategy : public Strategy {
 public:
  MirroredStrategy();
  explicit MirroredStrategy(const std::vector<GpuId>& gpus, const CrossDeviceOpsName& cross_device_ops = {});
  explicit MirroredStrategy(const std::vector<std::string>& names, const CrossDeviceOpsName& cross_device_ops = {});
  // MirroredStrategy({"/gpu:0", "/gpu:1"})
  MirroredStrategy(std::initializer_list<const char*> names, const CrossDeviceOpsName& cross_device_ops = {});
};

// The same over several processes, on one machine or many: each brings its GPUs, and all run the same program on the same data. A global
// batch is cut among the replicas of all of them; NCCL connects them. Started by `lockstep run --workers 2`, by `mpirun -n 2`, or one by
// one with LOCKSTEP_WORKER, LOCKSTEP_WORKERS, LOCKSTEP_ADDRESS=host:port of worker 0 and LOCKSTEP_SECRET. Started alone, it is one worker.
class MultiWorkerMirroredStrategy : public Strategy {
 public:
  MultiWorkerMirroredStrategy();
  // What else all workers must have in common, such as {{"seed", "3"}}: they compare it, and the program itself, when they meet.
  using InCommon = std::vector<std::pair<std::string, std::string>>;
  explicit MultiWorkerMirroredStrategy(const std::vector<GpuId>& gpus, const InCommon& in_common = {});
  static bool started_with_workers();  // whether this process was started as one of several
};

}  // namespace lockstep
