// The part of a communicator that this process holds: the ranks that live here. An ncclComm_t, which is one rank's handle, passes its calls
// on to it.
//
// There are two kinds, and both give the same bits. DirectCommunicator: all ranks are in this process and work on each other's memory.
// MessageCommunicator: ranks send each other messages, since they are in several processes or were configured to (NCCL_P2P_DISABLE=1).
#pragma once

#include <cstddef>
#include <string>

#include "simulator/gpu/nccl/exchange.h"
#include "simulator/gpu/nccl/result.h"
#include "simulator/gpu/nccl/statistics.h"

namespace lockstep::sim::nccl {

// One rank's call of a collective.
struct CollectiveCall {
  CollectiveSignature what;
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

class Communicator {
 public:
  virtual ~Communicator() = default;

  // Both append to the stream, which must belong to the rank's device; the device must be current.
  virtual Result collective(int rank, const CollectiveCall& call, cudaStream_t stream) = 0;
  virtual Result transfer(int rank, const TransferCall& call, cudaStream_t stream) = 0;

  // The rank's GPU has failed, so the rank can't do its part: the communicator ends for all, and no rank waits for it.
  virtual Result gpu_failed(int rank, const std::string& caller) = 0;

  // The rank's handle is destroyed or aborted. `why` completes "rank 2 ...".
  virtual void depart(int rank, ncclResult_t code_for_others, const std::string& why) = 0;
  // Waits until all that the rank has issued has run.
  virtual void drain(int rank) = 0;

  virtual Result async_error() const = 0;  // the first thing that went wrong
  virtual Traffic traffic(int rank) const = 0;
  virtual void reset_traffic(int rank) = 0;
};

}  // namespace lockstep::sim::nccl
