// The replicas' host threads wait for a start, work, and report that they have finished: two meetings a round.
#include "engine/distribute/replica/replica_threads.h"

#include <limits>

#include <backend/host_clock.h>
#include "engine/device/check.h"
#include "engine/device/range.h"

namespace lockstep {

ReplicaThreads::ReplicaThreads(const std::vector<int>& devices)
    : started_(1), finished_(static_cast<int>(devices.size())), failures_(devices.size()) {
  threads_.reserve(devices.size());
  for (std::size_t r = 0; r < devices.size(); ++r)
    threads_.emplace_back([this, r, device = devices[r]] { live(static_cast<int>(r), device); });
}

ReplicaThreads::~ReplicaThreads() {
  started_.stop();
  for (std::thread& thread : threads_) thread.join();
}

void ReplicaThreads::live(int replica, int device) {
  name_this_thread(("replica " + std::to_string(replica)).c_str());
  std::exception_ptr no_device;
  try {
    LOCKSTEP_CHECK(cudaSetDevice(device));
  } catch (...) {
    no_device = std::current_exception();
  }
  const Deadline never(std::numeric_limits<double>::infinity());
  for (std::uint64_t round = 1; started_.wait(round, never) == Rendezvous::Outcome::complete; ++round) {
    std::exception_ptr failure = no_device;
    if (!failure) {
      try {
        work_(replica);
      } catch (...) {
        failure = std::current_exception();
      }
    }
    {
      const std::lock_guard lock(mutex_);
      failures_[static_cast<std::size_t>(replica)] = failure;
    }
    finished_.arrive(replica);
  }
}

void ReplicaThreads::start(std::function<void(int)> work) {
  if (finished_.rounds() != rounds_)
    throw ReplicaError(finished_.missing(), "is still at work on what was started before, so nothing new can be started");
  work_ = std::move(work);
  ++rounds_;
  started_.arrive(0);
}

void ReplicaThreads::wait(const Deadline& deadline) {
  const bool in_time = finished_.wait(rounds_, deadline) == Rendezvous::Outcome::complete;
  if (in_time) host_clock_settle();
  throw_failure(in_time);
  if (!in_time)
    throw ReplicaError(finished_.missing(), "the host thread had not finished when the deadline passed (StepOptions::deadline_seconds).");
}

// Failures that are a cause come before those of replicas that gave up. While a replica is late only a cause is thrown.
void ReplicaThreads::throw_failure(bool all_finished) {
  const std::lock_guard lock(mutex_);
  std::vector<std::exception_ptr> failures = failures_;
  if (all_finished) failures_.assign(failures_.size(), nullptr);
  std::vector<ReplicaError> gave_up;
  for (std::size_t r = 0; r < failures.size(); ++r) {
    if (!failures[r]) continue;
    const int replica = static_cast<int>(r);
    try {
      std::rethrow_exception(failures[r]);
    } catch (const GaveUp& error) {
      gave_up.emplace_back(std::vector<int>{replica}, error.what());
    } catch (const std::exception& error) {
      throw ReplicaError({replica}, error.what());
    } catch (...) {
      throw ReplicaError({replica}, "an exception of an unknown type");
    }
  }
  if (all_finished && !gave_up.empty()) throw ReplicaError(gave_up.front());
}

void ReplicaThreads::run(std::function<void(int)> work, const Deadline& deadline) {
  start(std::move(work));
  wait(deadline);
}

bool ReplicaThreads::drain(const Deadline& deadline) noexcept {
  const bool in_time = finished_.wait(rounds_, deadline) == Rendezvous::Outcome::complete;
  if (in_time) {
    const std::lock_guard lock(mutex_);
    failures_.assign(failures_.size(), nullptr);
  }
  return in_time;
}

}  // namespace lockstep
