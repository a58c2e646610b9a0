// NCCL: one communicator for each replica, all made by this process, and grouped calls so that one thread may issue them all.
#include "engine/distribute/collectives/nccl_all_reduce.h"

#include <algorithm>

#include "engine/device/check.h"
#include "engine/distribute/collectives/peer.h"
#include "lockstep/error.h"

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
  if (cards.size() < 2 || (cards == cards_ && !communicators_.empty())) return;
  destroy();
  enable_peer_access(gpus);
  cards_ = std::move(cards);
  connect();
}

void NcclAllReduceOps::connect() {
  std::vector<ncclComm_t> made(cards_.size());
  LOCKSTEP_CHECK(ncclCommInitAll(made.data(), static_cast<int>(cards_.size()), cards_.data()));
  communicators_ = std::move(made);
}

void NcclAllReduceOps::check(const std::vector<Participant>& participants) const {
  bool fits = participants.size() == communicators_.size();
  for (std::size_t r = 0; fits && r < participants.size(); ++r) fits = participants[r].gpu->physical() == cards_[r];
  if (!fits) throw Error("NcclAllReduce: these replicas are not the ones prepare() made communicators for.");
}

// One call for every replica, as one group. When a call fails the other GPUs would wait for that replica for ever: so all
// communicators are aborted, which releases them, and the next collective makes new ones.
template <typename Call>
void NcclAllReduceOps::grouped(const std::vector<Participant>& participants, const Call& call) {
  if (communicators_.empty()) connect();
  check(participants);
  try {
    Group group;
    for (std::size_t r = 0; r < participants.size(); ++r) {
      on_behalf_of(r, [&] {
        const DeviceGuard guard(participants[r].gpu->physical());
        call(participants[r], communicators_[r]);
      });
    }
    group.end();
  } catch (...) {
    for (ncclComm_t communicator : communicators_) ncclCommAbort(communicator);
    communicators_.clear();
    throw;
  }
}

Traffic NcclAllReduceOps::all_reduce(const std::vector<Participant>& participants) {
  const auto n = static_cast<std::int64_t>(participants.size());
  const std::int64_t elements = participants.front().buffer.size();
  if (n == 1 || elements == 0) return {};
  grouped(participants, [&](const Participant& one, ncclComm_t communicator) {
    LOCKSTEP_CHECK(ncclAllReduce(one.buffer.raw(), one.buffer.raw(), static_cast<std::size_t>(elements), ncclFloat32, ncclSum, communicator,
                                 one.stream->get()));
  });
  const auto bytes = static_cast<std::int64_t>(participants.front().buffer.bytes());
  return {n, 2 * (n - 1) * bytes, std::vector<std::int64_t>(participants.size(), bytes)};
}

Traffic NcclAllReduceOps::broadcast(const std::vector<Participant>& participants) {
  const auto n = static_cast<std::int64_t>(participants.size());
  const std::size_t bytes = participants.front().buffer.bytes();
  if (n == 1 || bytes == 0) return {};
  grouped(participants, [&](const Participant& one, ncclComm_t communicator) {
    LOCKSTEP_CHECK(
        ncclBroadcast(one.buffer.raw(), one.buffer.raw(), bytes / sizeof(float), ncclFloat32, 0, communicator, one.stream->get()));
  });
  Traffic traffic{n - 1, (n - 1) * static_cast<std::int64_t>(bytes), {}};
  for (std::size_t r = 1; r < participants.size(); ++r) traffic.put(r, static_cast<std::int64_t>(bytes));
  return traffic;
}

}  // namespace lockstep
