// Reduction to one device: gather and add on replica 0 in replica order, then copy back.
#include "reduction_to_one_device.h"

#include "elementwise.h"
#include "lockstep/error.h"
#include "peer.h"

namespace lockstep {

void ReductionToOneDeviceOps::prepare(const std::vector<LogicalGpu*>& gpus, std::int64_t elements) {
  if (gpus.size() < 2) return;
  enable_peer_access(gpus);
  events_.clear();
  for (const LogicalGpu* gpu : gpus) events_.emplace_back(gpu->physical());
  const auto bytes = static_cast<std::size_t>(elements) * sizeof(float);
  if (staging_.bytes() < bytes) {
    gpus[0]->communication().synchronize();  // a reduction may still be reading the smaller one
    staging_ = Buffer();
    staging_ = gpus[0]->arena().allocate(bytes, "replica 0: staging of the reduction to one device");
  }
}

Traffic ReductionToOneDeviceOps::all_reduce(const std::vector<Participant>& participants) {
  Traffic traffic;
  const Participant& root = participants.front();
  const std::size_t bytes = root.buffer.bytes();
  if (participants.size() == 1 || bytes == 0) return traffic;
  if (participants.size() > events_.size() || bytes > staging_.bytes()) {
    throw Error("Reduction to one device: a buffer of " + std::to_string(bytes) + " bytes on " + std::to_string(participants.size()) +
                " replicas is more than prepare() was told of.");
  }
  const Tensor received(staging_.raw(), root.buffer.shape());
  const OpContext context{root.gpu, root.stream, {}};

  for (std::size_t r = 1; r < participants.size(); ++r) {
    const Participant& sender = participants[r];
    events_[r].record(*sender.stream);
    root.stream->wait(events_[r]);
    copy_between(*root.stream, *sender.gpu, sender.buffer.raw(), *root.gpu, received.raw(), static_cast<std::int64_t>(bytes));
    ops::add(context, received, root.buffer);
  }
  events_[0].record(*root.stream);  // the sum is there, and nobody's buffer is read any more
  for (std::size_t r = 1; r < participants.size(); ++r) {
    const Participant& receiver = participants[r];
    receiver.stream->wait(events_[0]);
    copy_between(*receiver.stream, *root.gpu, root.buffer.raw(), *receiver.gpu, receiver.buffer.raw(), static_cast<std::int64_t>(bytes));
    events_[r].record(*receiver.stream);
    root.stream->wait(events_[r]);  // what replica 0 does next may overwrite the sum
  }
  traffic.messages = 2 * (static_cast<std::int64_t>(participants.size()) - 1);
  traffic.bytes = traffic.messages * static_cast<std::int64_t>(bytes);
  return traffic;
}

}  // namespace lockstep
