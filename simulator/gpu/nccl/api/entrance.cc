#include "simulator/gpu/nccl/api/entrance.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "simulator/gpu/nccl/api/formation.h"

namespace lockstep::sim::nccl {

namespace {

struct Entering {
  Joining joining;
  Verdict verdict;
  Table table;
  std::shared_ptr<Formation> formation;
};

}  // namespace

// Each step is taken for all entries before the next one is taken for any: ranks that one thread brings in do not wait for each other.
ncclResult_t Entrance::meet() {
  const Patience patience(Clock::time_point::max(), &cancelled_);
  std::vector<Entering> all;
  for (const Entry& entry : entries_) {
    all.push_back({Joining(entry.id), {}, {}, nullptr});
    all.back().joining.join(entry.communicator->ranks, entry.communicator->rank, entry.communicator->device, patience);
  }
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    Entering& one = all[i];
    one.verdict = one.joining.wait(&one.table, patience);
    if (!one.verdict.ok()) continue;
    if (one.joining.id().process == own_process())
      forget_meeting(one.joining.id().serial);  // a refused one stays, for those that come late
    one.formation = find_formation(one.joining.id(), one.table, entries_[i].communicator->rank);
    one.formation->connect(patience);
  }
  ncclResult_t first = ncclSuccess;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    Entering& one = all[i];
    std::shared_ptr<Clique> clique;
    if (one.verdict.ok()) {
      one.verdict = one.formation->complete(patience, &clique);
      leave_formation(one.joining.id(), one.table, entry.communicator->rank);
    }
    if (!one.verdict.ok() && entry.blocking) {
      remove_communicator(entry.communicator.get());
      *entry.place = nullptr;
    }
    const ncclResult_t code = report(one.verdict);
    const std::lock_guard lock(entry.communicator->mutex);
    entry.communicator->clique = clique;
    if (!entry.blocking) entry.communicator->never_met = one.verdict;
    if (first == ncclSuccess) first = code;
  }
  return first;
}

ncclResult_t Entrance::run() {
  const ncclResult_t code = meet();
  for (const Entry& entry : std::exchange(entries_, {})) {  // a communicator and its entrance do not keep each other
    const std::lock_guard lock(entry.communicator->mutex);
    entry.communicator->entrance = nullptr;
  }
  const std::lock_guard lock(mutex_);
  over_ = true;
  ended_.notify_all();
  return code;
}

void Entrance::run_aside() {
  for (const Entry& entry : entries_) entry.communicator->entrance = shared_from_this();
  std::thread([self = shared_from_this()] { self->run(); }).detach();
}

void Entrance::cancel() {
  cancelled_ = true;
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [this] { return over_; });
}

ncclResult_t enter_all(const std::vector<Entry>& entries) {
  const auto entrance = std::make_shared<Entrance>(entries);
  if (std::all_of(entries.begin(), entries.end(), [](const Entry& entry) { return entry.blocking; })) return entrance->run();
  entrance->run_aside();
  return ncclInProgress;
}

}  // namespace lockstep::sim::nccl
