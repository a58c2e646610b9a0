// The way of a replica's samples to its GPU: through one slot of page-locked memory, one array behind the other, on the compute stream.
#pragma once

#include <cstddef>

#include "engine/distribute/replica/step_replica.h"

namespace lockstep {

class Upload {
 public:
  Upload(StepReplica& replica, std::size_t bytes, const Deadline& deadline);  // of all arrays together
  void add(const void* from, std::size_t bytes, const Tensor& to);
  void end();  // everything was added

 private:
  StepReplica* replica_;
  unsigned char* pinned_;
};

}  // namespace lockstep
