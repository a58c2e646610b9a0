#include "simulator/gpu/nccl/refusals.h"

#include "simulator/gpu/nccl/reduction.h"

namespace lockstep::sim::nccl {

std::string rank_name(int rank) { return "rank " + std::to_string(rank); }

Result communicator_has_failed(const Result& error, const std::string& call) {
  return {error.code, call + " refused, this communicator has failed: " + error.text};
}

Result gpu_has_failed(int rank, const std::string& call) {
  return {ncclUnhandledCudaError, call + " can't be done: " + rank_name(rank) + "'s GPU has failed"};
}

Result peer_has_departed(int peer, const std::string& why, const std::string& call) {
  return {ncclInvalidUsage, call + " can't happen: " + rank_name(peer) + " " + why};
}

Result no_algorithm(const std::string& call) { return {ncclInvalidUsage, call + ": NCCL_ALGO allows no algorithm for it"}; }

Result stream_refuses(const std::string& call, cudaError_t status) {
  return {ncclUnhandledCudaError, call + ": the stream refuses the operation: " + cudaGetErrorString(status)};
}

Result collectives_differ(std::uint64_t number, int one, const CollectiveSignature& its_call, int other,
                          const CollectiveSignature& other_call) {
  return {ncclInvalidUsage, "ranks disagree about collective number " + std::to_string(number) +
                                " of their communicator: " + rank_name(one) + " calls " + describe(its_call) + ", " + rank_name(other) +
                                " calls " + describe(other_call) + "; " + difference(its_call, other_call) +
                                " must be the same: all ranks call the same collectives in the same order"};
}

Result transfers_differ(int from, int to, TransferSize sent, TransferSize expected) {
  const auto text = [](TransferSize size) { return std::to_string(size.count) + " of " + name_of(size.type); };
  return {ncclInvalidUsage, "ranks disagree about a transfer: " + rank_name(from) + " sends " + text(sent) + ", " + rank_name(to) +
                                " expects " + text(expected)};
}

}  // namespace lockstep::sim::nccl
