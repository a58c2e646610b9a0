// The choice among algorithms.
#include "simulator/gpu/nccl/algorithm.h"

#include <algorithm>
#include <cctype>

namespace lockstep::sim::nccl {

AlgorithmChoice parse_algorithm_choice(const std::string& nccl_algo) {
  if (nccl_algo.empty()) return {};
  std::string list = nccl_algo;
  std::transform(list.begin(), list.end(), list.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const bool exclude = list.front() == '^';
  if (exclude) list.erase(0, 1);
  list = "," + list + ",";
  const auto listed = [&list](const char* name) { return list.find(std::string(",") + name + ",") != std::string::npos; };
  return {listed("ring") != exclude, listed("tree") != exclude};
}

const Algorithm* choose(const CollectiveSignature& what, const AlgorithmChoice& allowed) {
  if (what.kind == Kind::all_reduce && !allowed.ring && allowed.tree) return &kTreeAllReduce;
  if (what.kind == Kind::all_reduce && !allowed.ring) return nullptr;
  switch (what.kind) {  // only an all-reduce has a choice: NCCL too keeps rings for the others
    case Kind::all_reduce:
      return &kRingAllReduce;
    case Kind::reduce:
      return &kRingReduce;
    case Kind::broadcast:
      return &kRingBroadcast;
    case Kind::all_gather:
      return &kRingAllGather;
    case Kind::reduce_scatter:
      return &kRingReduceScatter;
  }
  return nullptr;
}

}  // namespace lockstep::sim::nccl
