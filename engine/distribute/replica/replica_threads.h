// A host thread for each replica, kept from step to step: launching work for one GPU never waits for another's.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/device/deadline.h"
#include "lockstep/error.h"

namespace lockstep {

// What the others throw when one replica fails in the middle of a step: a consequence, never the news.
struct GaveUp : Error {
  using Error::Error;
};

class ReplicaThreads {
 public:
  // `devices`: the card that is current on each thread.
  explicit ReplicaThreads(std::vector<int> devices);
  ~ReplicaThreads();  // waits for work under way, then joins
  ReplicaThreads(const ReplicaThreads&) = delete;
  ReplicaThreads& operator=(const ReplicaThreads&) = delete;

  // Starts work(replica) on every thread and returns. Work that was started must be waited for before the next.
  void start(std::string what, std::function<void(int replica)> work);
  // Throws an Error "replica 1, <what>: <its message>" for the first replica that failed, or one that names who is late.
  void wait(const Deadline& deadline);
  void run(std::string what, std::function<void(int replica)> work, const Deadline& deadline);
  // The same without a word: for the way out after another failure. False when somebody is late.
  bool drain(const Deadline& deadline) noexcept;

 private:
  void live(int replica, int device);
  bool all_finished() const;  // the caller holds the lock

  std::mutex mutex_;
  std::condition_variable work_came_, all_done_;  // apart, so that a replica that ends wakes nobody but the one who waits for all
  std::string what_;
  std::function<void(int)> work_;
  std::uint64_t round_ = 0;
  std::vector<std::uint64_t> finished_;  // by replica: the last round it finished
  std::vector<std::exception_ptr> failures_;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

// Replicas report buckets whose gradients were issued; one thread waits until all have.
class BucketBoard {
 public:
  enum class Outcome { ready, stopped, late };

  void reset(std::size_t buckets, int replicas);
  void arrive(std::size_t bucket);
  void stop();  // some replica will never arrive
  Outcome wait(std::size_t bucket, const Deadline& deadline);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<int> missing_;
  bool stopped_ = false;
};

}  // namespace lockstep
