// Words for signatures, and the cutting of ranges.
#include "simulator/gpu/nccl/exchange.h"

#include <algorithm>

#include "simulator/gpu/nccl/reduction.h"

namespace lockstep::sim::nccl {

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::all_reduce:
      return "ncclAllReduce";
    case Kind::reduce:
      return "ncclReduce";
    case Kind::broadcast:
      return "ncclBroadcast";
    case Kind::all_gather:
      return "ncclAllGather";
    case Kind::reduce_scatter:
      return "ncclReduceScatter";
  }
  return "";
}

bool reduces(Kind kind) { return kind == Kind::all_reduce || kind == Kind::reduce || kind == Kind::reduce_scatter; }

bool has_root(Kind kind) { return kind == Kind::reduce || kind == Kind::broadcast; }

std::string describe(const CollectiveSignature& signature) {
  std::string text = std::string(name_of(signature.kind)) + "(count " + std::to_string(signature.count) + ", " + name_of(signature.type);
  if (reduces(signature.kind)) text += std::string(", ") + name_of(signature.op);
  if (has_root(signature.kind)) text += ", root " + std::to_string(signature.root);
  return text + ")";
}

std::string difference(const CollectiveSignature& one, const CollectiveSignature& other) {
  if (one.kind != other.kind) return "the collective";
  std::string text;
  const auto add = [&text](bool differs, const char* what) {
    if (differs) text += (text.empty() ? "" : ", ") + std::string(what);
  };
  add(one.count != other.count, "the count");
  add(one.type != other.type, "the type");
  add(reduces(one.kind) && one.op != other.op, "the operator");
  add(has_root(one.kind) && one.root != other.root, "the root");
  return text;
}

Range piece_of(Range whole, std::size_t pieces, std::size_t index) {
  const std::size_t base = whole.size() / pieces;
  const std::size_t extra = whole.size() % pieces;
  const std::size_t begin = whole.begin + index * base + std::min(index, extra);
  return {begin, begin + base + (index < extra ? 1 : 0)};
}

}  // namespace lockstep::sim::nccl
