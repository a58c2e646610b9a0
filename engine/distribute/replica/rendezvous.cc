#include "engine/distribute/replica/rendezvous.h"

#include <backend/host_clock.h>

namespace lockstep {

void Rendezvous::reset(int parties) {
  const std::lock_guard lock(mutex_);
  arrived_.assign(static_cast<std::size_t>(parties), false);
  count_ = 0;
  rounds_ = 0;
  stopped_ = false;
}

void Rendezvous::arrive(int party) {
  const std::lock_guard lock(mutex_);
  host_clock_post(&count_);
  arrived_[static_cast<std::size_t>(party)] = true;
  if (++count_ == arrived_.size()) end_round();
}

Rendezvous::Outcome Rendezvous::wait(std::uint64_t rounds, const Deadline& deadline) {
  std::unique_lock lock(mutex_);
  const bool in_time = changed_.wait_until(lock, deadline.at(), [&] { return rounds_ >= rounds || stopped_; });
  if (rounds_ < rounds) return in_time ? Outcome::stopped : Outcome::late;
  lock.unlock();
  host_clock_meet(&count_);
  return Outcome::complete;
}

void Rendezvous::meet(int party, const Deadline& deadline, const std::string& what, const std::function<void()>& complete) {
  std::unique_lock lock(mutex_);
  if (stopped_) throw GaveUp("another replica failed.");
  const std::uint64_t round = rounds_;
  host_clock_post(&count_);
  arrived_[static_cast<std::size_t>(party)] = true;
  if (++count_ == arrived_.size()) {
    host_clock_meet(&count_);
    try {
      complete();
    } catch (...) {
      stopped_ = true;
      changed_.notify_all();
      throw;
    }
    host_clock_post(&rounds_);
    end_round();
    return;
  }
  const bool in_time = changed_.wait_until(lock, deadline.at(), [&] { return rounds_ != round || stopped_; });
  if (rounds_ != round) return host_clock_meet(&rounds_);
  if (in_time) throw GaveUp("another replica failed.");
  throw GaveUp(what + ": " + replica_names(missing_now()) + " had not come before the deadline passed.");
}

void Rendezvous::end_round() {
  arrived_.assign(arrived_.size(), false);
  count_ = 0;
  ++rounds_;
  changed_.notify_all();
}

void Rendezvous::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

std::uint64_t Rendezvous::rounds() const {
  const std::lock_guard lock(mutex_);
  return rounds_;
}

std::vector<int> Rendezvous::missing() const {
  const std::lock_guard lock(mutex_);
  return missing_now();
}

std::vector<int> Rendezvous::missing_now() const {
  std::vector<int> parties;
  for (std::size_t party = 0; party < arrived_.size(); ++party)
    if (!arrived_[party]) parties.push_back(static_cast<int>(party));
  return parties;
}

std::string replica_names(const std::vector<int>& replicas) {
  std::string names;
  for (const int replica : replicas) names += (names.empty() ? "replica " : ", replica ") + std::to_string(replica);
  return names;
}

}  // namespace lockstep
