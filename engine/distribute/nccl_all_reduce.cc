// NCCL: one communicator for each replica, all made by this process, and grouped calls so that one thread may issue them all.
#include "nccl_all_reduce.h"

#include <algorithm>

#include "check.h"
#include "lockstep/error.h"
#include "peer.h"

namespace lockstep {
namespace {

// Ends the group also when a call in between throws: a thread that stays in an open group would only ever collect calls.
class Group {
 public:
  Group() { LOCKSTEP_CHECK(ncclGroupStart()); }
  ~Group() {
    if (open_) ncclGroupEnd();
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  void end() {
    open_ = false;
    LOCKSTEP_CHECK(ncclGroupEnd());
  }

 private:
  bool open_ = true;
};

}  // namespace

NcclAllReduceOps::~NcclAllReduceOps() { destroy(); }

void NcclAllReduceOps::destroy() {
  for (ncclComm_t communicator : communicators_) ncclCommDestroy(communicator);
  communicators_.clear();
}

void NcclAllReduceOps::prepare(const std::vector<LogicalGpu*>& gpus, std::int64_t /*elements*/) {
  std::vector<int> cards;
  for (const LogicalGpu* gpu : gpus) {
    if (std::find(cards.begin(), cards.end(), gpu->physical()) != cards.end()) {
      throw Error("NcclAllReduce: NCCL refuses two replicas on one card, and " + gpu->name() + " shares card " +
                  std::to_string(gpu->physical()) + ". Use RingAllReduce() or ReductionToOneDevice() among logical GPUs of one card.");
    }
    cards.push_back(gpu->physical());
  }
  if (cards.size() < 2 || cards == cards_) return;
  destroy();
  enable_peer_access(gpus);
  communicators_.resize(cards.size());
  LOCKSTEP_CHECK(ncclCommInitAll(communicators_.data(), static_cast<int>(cards.size()), cards.data()));
  cards_ = std::move(cards);
}

void NcclAllReduceOps::check(const std::vector<Participant>& participants) const {
  bool fits = participants.size() == communicators_.size();
  for (std::size_t r = 0; fits && r < participants.size(); ++r) fits = participants[r].gpu->physical() == cards_[r];
  if (!fits) throw Error("NcclAllReduce: these replicas are not the ones prepare() made communicators for.");
}

Traffic NcclAllReduceOps::all_reduce(const std::vector<Participant>& participants) {
  const auto n = static_cast<std::int64_t>(participants.size());
  const std::int64_t elements = participants.front().buffer.size();
  if (n == 1 || elements == 0) return {};
  check(participants);
  Group group;
  for (std::size_t r = 0; r < participants.size(); ++r) {
    const Participant& participant = participants[r];
    const DeviceGuard guard(participant.gpu->physical());
    LOCKSTEP_CHECK(ncclAllReduce(participant.buffer.raw(), participant.buffer.raw(), static_cast<std::size_t>(elements), ncclFloat32,
                                 ncclSum, communicators_[r], participant.stream->get()));
  }
  group.end();
  return {n, 2 * (n - 1) * static_cast<std::int64_t>(participants.front().buffer.bytes())};
}

Traffic NcclAllReduceOps::broadcast(const std::vector<Participant>& participants) {
  const auto n = static_cast<std::int64_t>(participants.size());
  const std::size_t bytes = participants.front().buffer.bytes();
  if (n == 1 || bytes == 0) return {};
  check(participants);
  Group group;
  for (std::size_t r = 0; r < participants.size(); ++r) {
    const Participant& participant = participants[r];
    const DeviceGuard guard(participant.gpu->physical());
    LOCKSTEP_CHECK(ncclBroadcast(participant.buffer.raw(), participant.buffer.raw(), bytes / sizeof(float), ncclFloat32, 0,
                                 communicators_[r], participant.stream->get()));
  }
  group.end();
  return {n - 1, (n - 1) * static_cast<std::int64_t>(bytes)};
}

}  // namespace lockstep
