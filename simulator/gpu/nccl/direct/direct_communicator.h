// A communicator whose ranks are all in this process: every rank's operation reads and writes the others' memory.
//
// A collective is two gates around ordinary operations. The first rank to call it decides what it is; the others must call the same. Each
// call puts three things on its rank's stream: the entry gate (opens when all ranks' streams have come), the rank's operation, the
// exit gate (opens when all ranks' operations are done). A mismatch, an abort or a departed rank ends the whole communicator: everything
// that not all ranks have called yet is cancelled and its gates are opened, so no stream waits for ever. A rank's GPU that has failed ends
// it too: the operations on it are skipped, and what they should have written is missing on all ranks.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "simulator/gpu/nccl/algorithm.h"
#include "simulator/gpu/nccl/communicator.h"
#include "simulator/gpu/nccl/rank_counters.h"
#include "simulator/gpu/runtime/operation.h"

namespace lockstep::sim::nccl {

class DirectCommunicator : public Communicator, public std::enable_shared_from_this<DirectCommunicator> {
 public:
  DirectCommunicator(int ranks, AlgorithmChoice allowed);

  Result collective(int rank, const CollectiveCall& call, cudaStream_t stream) override;
  Result transfer(int rank, const TransferCall& call, cudaStream_t stream) override;
  Result gpu_failed(int rank, const std::string& caller) override;
  void depart(int rank, ncclResult_t code_for_others, const std::string& why) override;
  void drain(int rank) override { counters_->drain(rank); }
  Result async_error() const override;
  Traffic traffic(int rank) const override { return counters_->traffic(rank); }
  void reset_traffic(int rank) override { counters_->reset_traffic(rank); }

 private:
  struct Meeting;
  struct Collective;
  struct Transfer;
  struct Part;

  // These three hold mutex_.
  Result fail(const Result& error);
  Result departed_rank(const std::string& caller) const;
  Result put_on_stream(const std::shared_ptr<Meeting>& meeting, const std::shared_ptr<Part>& part, cudaStream_t stream,
                       Operation operation);

  const int size_;
  const AlgorithmChoice allowed_;
  const std::shared_ptr<RankCounters> counters_;

  mutable std::mutex mutex_;
  Result async_error_;
  std::vector<std::string> departed_;                                               // why, by rank; empty: still here
  std::vector<std::uint64_t> called_;                                               // collectives by rank
  std::uint64_t first_pending_ = 0;                                                 // number of the collective at the front of pending_
  std::deque<std::shared_ptr<Collective>> pending_;                                 // not yet called by all ranks
  std::map<std::pair<int, int>, std::deque<std::shared_ptr<Transfer>>> transfers_;  // by (from, to): one half called
};

}  // namespace lockstep::sim::nccl
