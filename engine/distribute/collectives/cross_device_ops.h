// How a sum over replicas is made. One algorithm a file; adding one is one file and one line in cross_device_ops.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/device/deadline.h"
#include "engine/distribute/collectives/replica_error.h"
#include "engine/distribute/workers/workers.h"
#include "engine/tensor/tensor.h"
#include "simulator/logical/logical_gpu.h"

namespace lockstep {

// One replica's part in a collective: its GPU, the stream to use, and the flat buffer to reduce in place.
struct Participant {
  LogicalGpu* gpu = nullptr;
  Stream* stream = nullptr;
  Tensor buffer;
};

// What a collective sent, counted as it was issued; tests compare it with the closed form.
struct Traffic {
  std::int64_t messages = 0;  // over all replicas: buffers, or chunks, that one had from another
  std::int64_t bytes = 0;
  std::vector<std::int64_t> results;  // by participant: bytes of the result that were put there

  void put(std::size_t participant, std::int64_t count) {
    if (results.size() <= participant) results.resize(participant + 1);
    results[participant] += count;
  }
  void add(const Traffic& more) {
    messages += more.messages;
    bytes += more.bytes;
    for (std::size_t r = 0; r < more.results.size(); ++r) put(r, more.results[r]);
  }
};

// One message of a collective: what one replica gets from another, to add it to its own or to keep it; or from several, whose buffers one
// kernel adds to its own.
struct Message {
  std::span<const int> from;  // replicas, in the order of adding
  int to = 0;
  int round = 0;  // messages of a round may be under way at once
  int chunk = 0;  // which of `chunks` equal parts of the buffer
  int chunks = 1;
  std::int64_t bytes = 0;  // from all of them
  bool adds = false;
};

// Called for every message, before and after it is issued on the receiver's stream; what is issued is the same with and without it. `place`
// is the receiver's: what it has there before, and then the result.
class MessageWatcher {
 public:
  virtual ~MessageWatcher() = default;
  virtual void begin(const Message& message, const Stream& stream, const Tensor& place) = 0;
  virtual void end(const Message& message, const Stream& stream, const Tensor& place) = 0;
};

// Everything is asynchronous: ordered behind what each participant's stream holds, and before what comes after it. Called by
// one thread for all replicas of this process, so an event is always recorded before a stream waits for it.
class CrossDeviceOps {
 public:
  virtual ~CrossDeviceOps() = default;
  virtual std::string name() const = 0;
  // Sums the buffers; afterwards every participant has the same bits.
  virtual Traffic all_reduce(const std::vector<Participant>& participants) = 0;
  // Sums the buffers into participant 0's; what the others hold afterwards is undefined.
  virtual Traffic reduce(const std::vector<Participant>& participants) { return all_reduce(participants); }
  // Copies participant 0's buffer to all others.
  virtual Traffic broadcast(const std::vector<Participant>& participants);
  // Memory and events for buffers of up to `elements`; called once, so that a step allocates nothing.
  virtual void prepare(const std::vector<LogicalGpu*>& gpus, std::int64_t elements) = 0;

  // Whether the replicas share one copy of weights and slots, see one_copy.h; then gradients are summed with `reduce`.
  virtual bool one_copy() const { return false; }

  // Several workers: see multi_worker_all_reduce.h. By default this process is all there is.
  virtual WorkerPlace place(int here) const { return {0, 1, 0, here}; }
  // A row of `width` words for each replica here; returns the rows of all workers' replicas, in their order.
  virtual std::vector<std::uint64_t> gather(const std::vector<std::uint64_t>& rows, std::size_t /*width*/, const Deadline& /*deadline*/) {
    return rows;
  }
  // Each buffer has a place of `share` elements for every replica of all workers, and its own is filled; afterwards all are.
  virtual Traffic all_gather(const std::vector<Participant>& /*participants*/, std::int64_t /*share*/) {
    throw Error(name() + ": rows are gathered over workers, and there is one.");
  }
  virtual void check() {}  // throws when another worker is lost
  virtual void abort() {}  // nothing more will be reduced: waiting streams are released

  // For a trace; null: none. Messages inside NCCL are not seen.
  void watch(MessageWatcher* watcher) { watcher_ = watcher; }

 protected:
  template <typename Action>
  void deliver(const Message& message, const Stream& stream, const Tensor& place, Action&& action) {
    if (watcher_ == nullptr) return std::forward<Action>(action)();
    watcher_->begin(message, stream, place);
    try {
      std::forward<Action>(action)();
    } catch (...) {
      watcher_->end(message, stream, Tensor());
      throw;
    }
    watcher_->end(message, stream, place);
  }

 private:
  MessageWatcher* watcher_ = nullptr;
};

std::unique_ptr<CrossDeviceOps> make_cross_device_ops(const std::string& name);  // one of the names below
std::vector<std::string> cross_device_ops_names();  // "nccl", "ring", "tree", "hierarchical-copy", "one-device", "one-copy"
// NCCL between cards, which refuses two replicas on one; never "one-copy". `why` gets the sentence to show.
std::string choose_cross_device_ops(const std::vector<GpuId>& gpus, std::string* why);

}  // namespace lockstep
