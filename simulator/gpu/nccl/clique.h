// All ranks of one communicator: what they have called and not yet all called, whether something went wrong, what they have sent.
//
// A collective is two gates around ordinary operations. The first rank to call it says what it is; the others must say the same. Each
// call puts three things on its rank's stream: the entry gate (opens when all ranks' streams have come), the rank's operation, the
// exit gate (opens when all ranks' operations are done). A mismatch, an abort or a departed rank ends the whole clique: everything not
// yet called by all is cancelled and its gates opened, so no stream waits for what can't come.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "algorithm.h"
#include "operation.h"
#include "verdict.h"

namespace lockstep::sim::nccl {

// One rank's call of a collective.
struct CollectiveCall {
  Signature what;
  const void* send = nullptr;
  void* receive = nullptr;
};

// One rank's half of a point-to-point transfer.
struct TransferCall {
  bool sends = false;
  int peer = 0;
  void* buffer = nullptr;  // only read by a sender
  std::size_t count = 0;
  ncclDataType_t type = ncclFloat32;
};

class Clique {
 public:
  Clique(std::vector<int> devices, AlgorithmChoice allowed);

  int size() const { return static_cast<int>(devices_.size()); }
  int device(int rank) const { return devices_[static_cast<std::size_t>(rank)]; }

  // Both append to the stream, which must belong to the rank's device; the device must be current.
  Verdict collective(int rank, const CollectiveCall& call, cudaStream_t stream);
  Verdict transfer(int rank, const TransferCall& call, cudaStream_t stream);

  // The rank's communicator is gone. `why` completes "rank 2 ...".
  void depart(int rank, ncclResult_t code_for_others, const std::string& why);
  // Waits until all that the rank has issued has run.
  void drain(int rank);

  Verdict state() const;  // the first thing that went wrong
  Traffic traffic(int rank) const;
  void reset_traffic(int rank);

 private:
  struct Collective;
  struct Transfer;
  struct Counters {
    std::atomic<std::uint64_t> collectives{0};
    std::atomic<std::uint64_t> messages{0};
    std::atomic<std::uint64_t> bytes{0};
  };
  // What operations still in a queue need of the clique; outlives it.
  struct Ledger {
    explicit Ledger(int ranks) : counters(static_cast<std::size_t>(ranks)), outstanding(static_cast<std::size_t>(ranks), 0) {}
    std::vector<Counters> counters;
    std::mutex mutex;
    std::condition_variable all_done;
    std::vector<int> outstanding;  // operations of each rank in a queue; guarded by mutex

    void issued(int rank);
    void done(int rank);
    void count(const std::vector<Message>& messages);
  };

  // These three hold mutex_.
  Verdict fail(ncclResult_t code, const std::string& text);
  Verdict missing_rank(const std::string& caller) const;
  template <typename Met>
  Verdict put_on_stream(Met& met, int rank, cudaStream_t stream, Operation operation);

  const std::vector<int> devices_;
  const AlgorithmChoice allowed_;
  const std::shared_ptr<Ledger> ledger_;

  mutable std::mutex mutex_;
  Verdict state_;
  std::vector<std::string> departed_;                                               // why, by rank; empty: still here
  std::vector<std::uint64_t> called_;                                               // collectives by rank
  std::uint64_t first_pending_ = 0;                                                 // number of the collective at the front of pending_
  std::deque<std::shared_ptr<Collective>> pending_;                                 // not yet called by all ranks
  std::map<std::pair<int, int>, std::deque<std::shared_ptr<Transfer>>> transfers_;  // by (from, to): one half called
};

}  // namespace lockstep::sim::nccl
