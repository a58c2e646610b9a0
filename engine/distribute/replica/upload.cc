#include "engine/distribute/replica/upload.h"

#include <backend/host_clock.h>
#include "engine/ops/elementwise.h"

namespace lockstep {

Upload::Upload(StepReplica& replica, std::size_t bytes, const Deadline& deadline)
    : replica_(&replica), pinned_(replica.input.staging.next(bytes, deadline)) {}

void Upload::add(const void* from, std::size_t bytes, const Tensor& to) {
  const OpContext context = replica_->replica.compute_context();
  host_clock_copy(pinned_, from, bytes, context.stream->get());
  ops::upload(context, pinned_, to);
  pinned_ += bytes;
}

void Upload::end() { replica_->input.staging.issued(replica_->gpu().compute()); }

}  // namespace lockstep
