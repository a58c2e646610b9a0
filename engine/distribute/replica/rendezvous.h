// Where host threads wait for one another: parties arrive, and a round is complete when all of them have. Every wait has a deadline, and
// `stop` ends all waits, for when a party will never arrive.
//
// The modelled host clock cannot see that one thread waits for another, so it is notified here (<backend/host_clock.h>): a thread that
// waited continues no earlier than the last party arrived.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "engine/device/deadline.h"
#include "lockstep/error.h"

namespace lockstep {

// What a replica throws when it stops because another one failed, or did not arrive in time. The other one's Error is the cause.
struct GaveUp : Error {
  using Error::Error;
};

class Rendezvous {
 public:
  enum class Outcome { complete, stopped, late };

  explicit Rendezvous(int parties = 0) { reset(parties); }
  void reset(int parties);  // to round 0, not stopped; no thread waits or arrives at the same time

  // Arrives without waiting. A party arrives once in a round.
  void arrive(int party);
  // Waits, without arriving, until `rounds` rounds are complete.
  Outcome wait(std::uint64_t rounds, const Deadline& deadline);
  // Arrives and waits for the others; GaveUp where they are stopped or late. The last to arrive calls `complete` while they wait; when it
  // throws, they are stopped. `what` is what they meet for, for the error.
  void meet(int party, const Deadline& deadline, const std::string& what, const std::function<void()>& complete);

  void stop();
  std::uint64_t rounds() const;      // complete ones
  std::vector<int> missing() const;  // parties that have not arrived in the round under way

 private:
  // The caller holds the lock.
  void end_round();
  std::vector<int> missing_now() const;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<bool> arrived_;  // by party, in the round under way
  std::size_t count_ = 0;      // of those
  std::uint64_t rounds_ = 0;
  bool stopped_ = false;
};

// "replica 1, replica 3"
std::string replica_names(const std::vector<int>& replicas);

}  // namespace lockstep
