// The sentences of both kinds of communicators, where they refuse a call or have failed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "simulator/gpu/nccl/exchange.h"
#include "simulator/gpu/nccl/result.h"

namespace lockstep::sim::nccl {

std::string rank_name(int rank);  // "rank 2"

Result communicator_has_failed(const Result& error, const std::string& call);
Result gpu_has_failed(int rank, const std::string& call);
Result peer_has_departed(int peer, const std::string& why, const std::string& call);
Result no_algorithm(const std::string& call);  // NCCL_ALGO allows none
Result stream_refuses(const std::string& call, cudaError_t status);

// Two ranks call different collectives, the `number`-th ones of their communicator.
Result collectives_differ(std::uint64_t number, int one, const CollectiveSignature& its_call, int other,
                          const CollectiveSignature& other_call);
// The two halves of a transfer do not fit.
struct TransferSize {
  std::size_t count = 0;
  ncclDataType_t type = ncclFloat32;

  bool operator==(const TransferSize&) const = default;
};
Result transfers_differ(int from, int to, TransferSize sent, TransferSize expected);

}  // namespace lockstep::sim::nccl
