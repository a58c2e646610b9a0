#include "engine/distribute/replica/step_replica_group.h"

namespace lockstep {

StepReplicaGroup::StepReplicaGroup(std::vector<LogicalGpu*> gpus)
    : gpus_(std::move(gpus)), scratch_(gpus_.size()), ops_(gpus_.size() + 1), prepared_(gpus_.size() + 1, -1), here_(gpus_.size()) {}

void StepReplicaGroup::begin(int members, const Deadline& deadline) {
  members_ = members;
  deadline_ = deadline;
  rendezvous_.reset(members);
}

// A tree: the messages are small, so what counts is how many follow one another. It has events and staging of its own because the
// gradients' all-reduce may be under way on the communication streams.
CrossDeviceOps& StepReplicaGroup::ops_for(std::int64_t elements) {
  const auto n = static_cast<std::size_t>(members_);
  if (!ops_[n]) ops_[n] = make_cross_device_ops("tree");
  if (prepared_[n] < elements) {
    for (int member = 0; member < members_; ++member) gpus_[static_cast<std::size_t>(member)]->compute().synchronize();
    ops_[n]->prepare({gpus_.begin(), gpus_.begin() + members_}, elements);
    prepared_[n] = elements;
  }
  return *ops_[n];
}

void StepReplicaGroup::sum(int member, const Tensor& buffer) {
  LogicalGpu* gpu = gpus_[static_cast<std::size_t>(member)];
  here_[static_cast<std::size_t>(member)] = {gpu, &gpu->compute(), buffer};
  rendezvous_.meet(member, deadline_, "a sum over replicas inside a layer", [&] {
    ops_for(buffer.size()).all_reduce({here_.begin(), here_.begin() + members_});
  });
}

Tensor StepReplicaGroup::scratch(int member, std::int64_t elements) {
  Buffer& own = scratch_[static_cast<std::size_t>(member)];
  const auto bytes = static_cast<std::size_t>(elements) * sizeof(float);
  if (own.bytes() < bytes) {
    LogicalGpu& gpu = *gpus_[static_cast<std::size_t>(member)];
    gpu.compute().synchronize();  // the smaller one may still be in use
    own = Buffer();
    own = gpu.arena().allocate(bytes, "replica " + std::to_string(member) + ": sums over replicas inside layers");
  }
  return {own.raw(), {elements}};
}

}  // namespace lockstep
