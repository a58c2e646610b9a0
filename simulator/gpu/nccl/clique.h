// The ranks of one communicator, as far as they live in this process: what an ncclComm_t hands its calls to.
//
// Two ways to be one. DirectClique: all ranks are in this process and work on each other's memory. MessageClique: ranks are in several
// processes (or told to act as if they were) and send each other messages. Both give the same bits.
#pragma once

#include <cstddef>
#include <string>

#include "simulator/gpu/nccl/exchange.h"
#include "simulator/gpu/nccl/statistics.h"
#include "simulator/gpu/nccl/verdict.h"

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
  virtual ~Clique() = default;

  // Both append to the stream, which must belong to the rank's device; the device must be current.
  virtual Verdict collective(int rank, const CollectiveCall& call, cudaStream_t stream) = 0;
  virtual Verdict transfer(int rank, const TransferCall& call, cudaStream_t stream) = 0;

  // The rank can't do its part any more, since its GPU has failed: the communicator ends for all, so nobody waits for the rank.
  virtual Verdict give_up(int rank, const std::string& caller) = 0;

  // The rank's communicator is gone. `why` completes "rank 2 ...".
  virtual void depart(int rank, ncclResult_t code_for_others, const std::string& why) = 0;
  // Waits until all that the rank has issued has run.
  virtual void drain(int rank) = 0;

  virtual Verdict state() const = 0;  // the first thing that went wrong
  virtual Traffic traffic(int rank) const = 0;
  virtual void reset_traffic(int rank) = 0;
};

inline std::string rank_name(int rank) { return "rank " + std::to_string(rank); }

inline Verdict gpu_has_failed(int rank, const std::string& caller) {
  return {ncclUnhandledCudaError, caller + " can't be done: " + rank_name(rank) + "'s GPU has failed"};
}

}  // namespace lockstep::sim::nccl
