// A communicator whose ranks are all in this process: every rank's operation reads and writes the others' memory.
//
// A collective is two gates around ordinary operations. The first rank to call it says what it is; the others must say the same. Each
// call puts three things on its rank's stream: the entry gate (opens when all ranks' streams have come), the rank's operation, the
// exit gate (opens when all ranks' operations are done). A mismatch, an abort or a departed rank ends the whole clique: everything not
// yet called by all is cancelled and its gates opened, so no stream waits for what can't come. So does a rank's GPU that has failed: the
// operations on it are skipped, and what they should have written is missing everywhere.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "simulator/gpu/nccl/algorithm.h"
#include "simulator/gpu/nccl/clique.h"
#include "simulator/gpu/nccl/ledger.h"
#include "simulator/gpu/runtime/operation.h"

namespace lockstep::sim::nccl {

class DirectClique : public Clique, public std::enable_shared_from_this<DirectClique> {
 public:
  DirectClique(int ranks, AlgorithmChoice allowed);

  Verdict collective(int rank, const CollectiveCall& call, cudaStream_t stream) override;
  Verdict transfer(int rank, const TransferCall& call, cudaStream_t stream) override;
  Verdict give_up(int rank, const std::string& caller) override;
  void depart(int rank, ncclResult_t code_for_others, const std::string& why) override;
  void drain(int rank) override { ledger_->drain(rank); }
  Verdict state() const override;
  Traffic traffic(int rank) const override { return ledger_->traffic(rank); }
  void reset_traffic(int rank) override { ledger_->reset_traffic(rank); }

 private:
  struct Collective;
  struct Transfer;
  struct Part;

  // These three hold mutex_.
  Verdict fail(ncclResult_t code, const std::string& text);
  Verdict missing_rank(const std::string& caller) const;
  template <typename Met>
  Verdict put_on_stream(Met& met, const std::shared_ptr<Part>& part, cudaStream_t stream, Operation operation);

  const int size_;
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

// For the model clock and the race detector: what a rank's part of the collective costs, and the bytes it touches on a real machine,
// which are those of its own buffers.
Cost cost_of(const Signature& what, int ranks, std::size_t share);
std::vector<Touch> touches_of(const Signature& what, int ranks, const void* send, const void* receive);

// A refusal's or mismatch's words that both cliques share.
std::string disagreement(std::uint64_t number, int one, const Signature& its_call, int other, const Signature& other_call);
std::string transfer_disagreement(int from, int to, std::size_t sent, ncclDataType_t sent_type, std::size_t expected,
                                  ncclDataType_t expected_type);

}  // namespace lockstep::sim::nccl
