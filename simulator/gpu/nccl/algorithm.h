// How a collective is made: which elements each rank's operation works on, in which order it combines them, which messages a real
// machine would send for that.
//
// An algorithm is a row of functions, one algorithm a file. Every rank's operation runs between the entry gate (all ranks' inputs are
// ready) and the exit gate (all outputs are), works on its own share and writes the result to all ranks that need it; so no operation waits
// for another. Within a share every element is computed by itself, in an order that follows from the algorithm and the ranks: cutting a
// share into parts does not change a bit.
#pragma once

#include <string>
#include <vector>

#include "simulator/gpu/nccl/exchange.h"
#include "simulator/gpu/nccl/statistics.h"

namespace lockstep::sim::nccl {

struct Algorithm {
  const char* name;
  Range (*share)(const Exchange& exchange, int rank);
  void (*run)(const Exchange& exchange, int rank, Range part);
  std::vector<Message> (*messages)(const Exchange& exchange, int rank);  // those that the rank's share stands for
};

extern const Algorithm kRingAllReduce;
extern const Algorithm kTreeAllReduce;
extern const Algorithm kRingReduce;
extern const Algorithm kRingBroadcast;
extern const Algorithm kRingAllGather;
extern const Algorithm kRingReduceScatter;

// Which algorithms may be used, from the value of NCCL_ALGO ("Ring", "Tree", a list, or "^" and a list of what may not).
struct AlgorithmChoice {
  bool ring = true;
  bool tree = true;
};

AlgorithmChoice parse_algorithm_choice(const std::string& nccl_algo);
const Algorithm* choose(const CollectiveSignature& what, const AlgorithmChoice& allowed);  // nullptr: none is allowed

}  // namespace lockstep::sim::nccl
