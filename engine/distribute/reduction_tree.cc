// Up the tree with additions, down the tree with copies.
#include "reduction_tree.h"

#include "lockstep/error.h"
#include "peer.h"

namespace lockstep {

void ReductionTree::prepare(const std::vector<LogicalGpu*>& gpus, std::int64_t elements) {
  if (gpus.size() < 2) return;
  enable_peer_access(gpus);
  edges_ = edges(gpus);
  ready_.clear();
  read_.clear();
  for (const LogicalGpu* gpu : gpus) {
    ready_.emplace_back(gpu->physical());
    read_.emplace_back(gpu->physical());
  }
  elements_ = std::max(elements_, elements);
  staging_.resize(gpus.size());
  const auto bytes = static_cast<std::size_t>(elements) * sizeof(float);
  for (const Edge& edge : edges_) {
    LogicalGpu& parent = *gpus[static_cast<std::size_t>(edge.parent)];
    Buffer& staging = staging_[static_cast<std::size_t>(edge.parent)];
    if (parent.physical() == gpus[static_cast<std::size_t>(edge.child)]->physical() || staging.bytes() >= bytes) continue;
    parent.communication().synchronize();  // a reduction may still be reading the smaller one
    staging = Buffer();
    staging = parent.arena().allocate(bytes, "replica " + std::to_string(edge.parent) + ": staging of the all-reduce \"" + name() + "\"");
  }
}

Traffic ReductionTree::all_reduce(const std::vector<Participant>& participants) {
  Traffic traffic;
  const std::int64_t elements = participants.front().buffer.size();
  if (participants.size() == 1 || elements == 0) return traffic;
  if (participants.size() != ready_.size() || elements > elements_) {
    throw Error("All-reduce \"" + name() + "\": a buffer of " + std::to_string(elements) + " elements on " +
                std::to_string(participants.size()) + " replicas is not what prepare() was told of.");
  }
  const auto bytes = static_cast<std::int64_t>(participants.front().buffer.bytes());

  for (const Edge& edge : edges_) {
    const Participant& parent = participants[static_cast<std::size_t>(edge.parent)];
    const Participant& child = participants[static_cast<std::size_t>(edge.child)];
    Event& ready = ready_[static_cast<std::size_t>(edge.child)];
    ready.record(*child.stream);
    parent.stream->wait(ready);
    add_between({parent.gpu, parent.stream, {}}, *child.gpu, child.buffer, parent.buffer, staging_[static_cast<std::size_t>(edge.parent)]);
  }
  for (auto edge = edges_.rbegin(); edge != edges_.rend(); ++edge) {
    const Participant& parent = participants[static_cast<std::size_t>(edge->parent)];
    const Participant& child = participants[static_cast<std::size_t>(edge->child)];
    Event& ready = ready_[static_cast<std::size_t>(edge->parent)];
    ready.record(*parent.stream);
    child.stream->wait(ready);
    copy_between(*child.stream, *parent.gpu, parent.buffer.raw(), *child.gpu, child.buffer.raw(), bytes);
    read_[static_cast<std::size_t>(edge->child)].record(*child.stream);
  }
  // What a parent does next may overwrite its buffer. Only now, or its children would be served one after another.
  for (const Edge& edge : edges_)
    participants[static_cast<std::size_t>(edge.parent)].stream->wait(read_[static_cast<std::size_t>(edge.child)]);
  traffic.messages = 2 * static_cast<std::int64_t>(edges_.size());
  traffic.bytes = traffic.messages * bytes;
  return traffic;
}

}  // namespace lockstep
