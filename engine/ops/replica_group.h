// The replicas that run the same layer at the same time, as a layer that needs a sum over all of them sees them.
#pragma once

#include <cstdint>

#include "engine/tensor/tensor.h"

namespace lockstep {

class ReplicaGroup {
 public:
  virtual ~ReplicaGroup() = default;
  // Those that have samples in this step; members are numbered from 0 in the order of replicas.
  virtual int size() const = 0;
  // Adds up the members' buffers in place, behind what each one's compute stream holds and before what comes after it. Every member calls
  // it from its own thread, in the same order; returns once the sum was issued. An Error where a member never comes.
  virtual void sum(int member, const Tensor& buffer) = 0;
  // Floats on the member's GPU, free until its next call.
  virtual Tensor scratch(int member, std::int64_t elements) = 0;
};

}  // namespace lockstep
