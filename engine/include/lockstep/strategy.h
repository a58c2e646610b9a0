// Where a model's variables live and how its replicas stay equal.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/logical.h"

namespace lockstep {

// By name: NcclAllReduce(), RingAllReduce(), TreeAllReduce(), HierarchicalCopyAllReduce(), ReductionToOneDevice(); empty: chosen for the
// devices.
struct CrossDeviceOpsName {
  std::string name;
};
inline CrossDeviceOpsName NcclAllReduce() { return {"nccl"}; }
inline CrossDeviceOpsName RingAllReduce() { return {"ring"}; }
inline CrossDeviceOpsName TreeAllReduce() { return {"tree"}; }
inline CrossDeviceOpsName HierarchicalCopyAllReduce() { return {"hierarchical-copy"}; }
inline CrossDeviceOpsName ReductionToOneDevice() { return {"one-device"}; }

// A handle; copies name the same strategy. Models made inside a scope live on all its replicas.
class Strategy {
 public:
  int num_replicas_in_sync() const;
  const std::vector<GpuId>& gpus() const;
  std::string cross_device_ops() const;  // the algorithm in use
  std::string describe() const;          // one line: which algorithm and why

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

  struct Impl;
  const std::shared_ptr<Impl>& impl() const { return impl_; }
  // The strategy of the innermost scope of this thread; outside any, one device: the first GPU.
  static Strategy current();

 protected:
  explicit Strategy(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
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

}  // namespace lockstep
