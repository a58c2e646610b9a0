// The replicas' host threads, and the board on which they report finished buckets.
#include "engine/distribute/replica/replica_threads.h"

#include <algorithm>

#include <backend/host_clock.h>
#include "engine/device/check.h"
#include "engine/device/range.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

std::string message_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an exception of an unknown type";
  }
}

bool is_gave_up(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const GaveUp&) {
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace

ReplicaThreads::ReplicaThreads(std::vector<int> devices) : finished_(devices.size(), 0), failures_(devices.size()) {
  threads_.reserve(devices.size());
  for (std::size_t r = 0; r < devices.size(); ++r)
    threads_.emplace_back([this, r, device = devices[r]] { live(static_cast<int>(r), device); });
}

ReplicaThreads::~ReplicaThreads() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  work_came_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ReplicaThreads::live(int replica, int device) {
  const auto self = static_cast<std::size_t>(replica);
  name_this_thread(("replica " + std::to_string(replica)).c_str());
  std::exception_ptr no_device;
  try {
    LOCKSTEP_CHECK(cudaSetDevice(device));
  } catch (...) {
    no_device = std::current_exception();
  }
  std::unique_lock lock(mutex_);
  for (;;) {
    work_came_.wait(lock, [&] { return stop_ || finished_[self] < round_; });
    if (finished_[self] == round_) return;
    const std::function<void(int)>& work = work_;  // stays as it is until everybody has finished
    lock.unlock();
    host_clock_meet(&round_);
    std::exception_ptr failure = no_device;
    if (!failure) {
      try {
        work(replica);
      } catch (...) {
        failure = std::current_exception();
      }
    }
    host_clock_post(&finished_);
    lock.lock();
    failures_[self] = failure;
    finished_[self] = round_;
    if (all_finished()) all_done_.notify_all();
  }
}

void ReplicaThreads::start(std::string what, std::function<void(int)> work) {
  {
    const std::lock_guard lock(mutex_);
    if (!all_finished()) throw Error("A replica is still at work on " + what_ + "; " + what + " can't be started.");
    what_ = std::move(what);
    work_ = std::move(work);
    host_clock_post(&round_);
    ++round_;
  }
  work_came_.notify_all();
}

bool ReplicaThreads::all_finished() const {
  return std::all_of(finished_.begin(), finished_.end(), [&](std::uint64_t finished) { return finished == round_; });
}

void ReplicaThreads::wait(const Deadline& deadline) {
  std::unique_lock lock(mutex_);
  const bool in_time = all_done_.wait_until(lock, deadline.at(), [&] { return all_finished(); });
  if (in_time) {
    host_clock_meet(&finished_);
    host_clock_settle();
  }
  std::vector<std::size_t> failed;  // those that failed by themselves first: what they drew others into comes after
  for (const bool drawn_in : {false, true}) {
    for (std::size_t r = 0; r < failures_.size(); ++r) {
      if (finished_[r] == round_ && failures_[r] && is_gave_up(failures_[r]) == drawn_in) failed.push_back(r);
    }
  }
  if (!failed.empty() && (in_time || !is_gave_up(failures_[failed.front()]))) {
    const std::size_t r = failed.front();
    const std::string text = "replica " + std::to_string(r) + ", " + what_ + ": " + message_of(failures_[r]);
    if (in_time) failures_.assign(failures_.size(), nullptr);
    throw Error(text);
  }
  if (in_time) return;
  std::string late;
  for (std::size_t r = 0; r < finished_.size(); ++r) {
    if (finished_[r] != round_) late += (late.empty() ? "replica " : ", replica ") + std::to_string(r);
  }
  throw Error(late + ", " + what_ + ": the host thread had not finished when the deadline passed (StepOptions::deadline_seconds).");
}

void ReplicaThreads::run(std::string what, std::function<void(int)> work, const Deadline& deadline) {
  start(std::move(what), std::move(work));
  wait(deadline);
}

bool ReplicaThreads::drain(const Deadline& deadline) noexcept {
  std::unique_lock lock(mutex_);
  const bool in_time = all_done_.wait_until(lock, deadline.at(), [&] { return all_finished(); });
  if (in_time) {
    host_clock_meet(&finished_);
    failures_.assign(failures_.size(), nullptr);
  }
  return in_time;
}

void BucketBoard::reset(std::size_t buckets, int replicas) {
  const std::lock_guard lock(mutex_);
  missing_.assign(buckets, replicas);
  stopped_ = false;
}

void BucketBoard::arrive(std::size_t bucket) {
  const std::lock_guard lock(mutex_);
  host_clock_post(&missing_[bucket]);
  if (--missing_[bucket] == 0) changed_.notify_all();
}

void BucketBoard::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

BucketBoard::Outcome BucketBoard::wait(std::size_t bucket, const Deadline& deadline) {
  std::unique_lock lock(mutex_);
  const bool in_time = changed_.wait_until(lock, deadline.at(), [&] { return stopped_ || missing_[bucket] == 0; });
  if (missing_[bucket] == 0) {
    host_clock_meet(&missing_[bucket]);
    return Outcome::ready;
  }
  return in_time ? Outcome::stopped : Outcome::late;
}

}  // namespace lockstep
