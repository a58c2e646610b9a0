// One collective as all ranks called it, and where the bytes of each rank are.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <nccl.h>

namespace lockstep::sim::nccl {

enum class Kind { all_reduce, reduce, broadcast, all_gather, reduce_scatter };

// What must be the same in the calls of all ranks.
struct CollectiveSignature {
  Kind kind = Kind::all_reduce;
  std::size_t count = 0;  // elements, as the call counts them: of the whole, or of one rank's block (all-gather, reduce-scatter)
  ncclDataType_t type = ncclFloat32;
  ncclRedOp_t op = ncclSum;  // of reductions
  int root = 0;              // of reduce and broadcast
};

const char* name_of(Kind kind);  // "ncclAllReduce"
bool reduces(Kind kind);
bool has_root(Kind kind);
std::string describe(const CollectiveSignature& signature);                                // "ncclAllReduce(count 10, float32, sum)"
std::string difference(const CollectiveSignature& one, const CollectiveSignature& other);  // "count, op"; empty when they agree

struct Exchange {
  CollectiveSignature what;
  int ranks = 1;
  std::vector<const void*> send;  // by rank; device addresses
  std::vector<void*> receive;     // null where the rank receives nothing
};

// Elements [begin, end).
struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;

  std::size_t size() const { return end - begin; }
};

// The index-th of `pieces` contiguous pieces whose sizes differ by at most one, larger first.
Range piece_of(Range whole, std::size_t pieces, std::size_t index);

}  // namespace lockstep::sim::nccl
