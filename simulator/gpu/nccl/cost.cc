#include "simulator/gpu/nccl/cost.h"

#include "simulator/gpu/nccl/reduction.h"

namespace lockstep::sim::nccl {

Cost cost_of(const CollectiveSignature& what, int ranks, std::size_t share) {
  const double elements = static_cast<double>(share);
  const double bytes = elements * static_cast<double>(size_of(what.type));
  const double n = ranks;
  switch (what.kind) {
    case Kind::all_reduce:
      return {elements * (n - 1), 2 * n * bytes};
    case Kind::reduce:
      return {elements * (n - 1), (n + 1) * bytes};
    case Kind::reduce_scatter:
      return {elements * (n - 1), (n + 1) * bytes};
    case Kind::all_gather:
      return {0, (n + 1) * bytes};
    case Kind::broadcast:
      return {0, 2 * bytes};
  }
  return {};
}

std::vector<Touch> touches_of(const CollectiveSignature& what, int ranks, const void* send, const void* receive) {
  const auto n = static_cast<std::size_t>(ranks);
  const std::size_t one = what.count * size_of(what.type);
  std::vector<Touch> touches;
  if (send != nullptr) touches.push_back({send, what.kind == Kind::reduce_scatter ? one * n : one, false});
  if (receive != nullptr) touches.push_back({receive, what.kind == Kind::all_gather ? one * n : one, true});
  return touches;
}

}  // namespace lockstep::sim::nccl
