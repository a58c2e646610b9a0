// A host thread for each replica, kept from step to step: launching work for one GPU never waits for another's.
#pragma once

#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/distribute/collectives/replica_error.h"
#include "engine/distribute/replica/rendezvous.h"

namespace lockstep {

class ReplicaThreads {
 public:
  // `devices`: the card that is current on each thread.
  explicit ReplicaThreads(const std::vector<int>& devices);
  ~ReplicaThreads();  // waits for work under way, then joins
  ReplicaThreads(const ReplicaThreads&) = delete;
  ReplicaThreads& operator=(const ReplicaThreads&) = delete;

  // Starts work(replica) on every thread and returns. Work that was started must be waited for before the next.
  void start(std::function<void(int replica)> work);
  // Throws the ReplicaError of the first replica that failed, or one that names those that are late.
  void wait(const Deadline& deadline);
  void run(std::function<void(int replica)> work, const Deadline& deadline);
  // The same without an error: for the way out after another failure. False when a replica is late.
  bool drain(const Deadline& deadline) noexcept;

 private:
  void live(int replica, int device);
  void throw_failure(bool all_finished);

  Rendezvous started_, finished_;
  std::function<void(int)> work_;
  std::uint64_t rounds_ = 0;  // started
  std::mutex mutex_;          // guards failures_
  std::vector<std::exception_ptr> failures_;
  std::vector<std::thread> threads_;
};

}  // namespace lockstep
