// Up the tree with additions, down the tree with copies.
#include "engine/distribute/collectives/reduction_tree.h"

#include "engine/distribute/collectives/peer.h"
#include "engine/ops/elementwise.h"
#include "lockstep/error.h"

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

bool ReductionTree::nothing_to_do(const std::vector<Participant>& participants) const {
  const std::int64_t elements = participants.front().buffer.size();
  if (participants.size() == 1 || elements == 0) return true;
  if (participants.size() != ready_.size() || elements > elements_) {
    throw Error("All-reduce \"" + name() + "\": a buffer of " + std::to_string(elements) + " elements on " +
                std::to_string(participants.size()) + " replicas differs from the number prepare() was called with.");
  }
  return false;
}

// One replica waits for what another has recorded; each part is done on behalf of the replica whose stream it goes to.
void ReductionTree::record(std::vector<Event>& events, const std::vector<Participant>& participants, std::size_t replica) {
  on_behalf_of(replica, [&] { events[replica].record(*participants[replica].stream); });
}

// Edges from `first` on that have the same parent, on the parent's card: one pass over the parent's buffer adds all of them, in their
// order.
std::size_t ReductionTree::added_at_once(const std::vector<Participant>& participants, std::size_t first) const {
  const auto card = [&](int replica) { return participants[static_cast<std::size_t>(replica)].gpu->physical(); };
  std::size_t count = 1;
  while (count < ops::kMostAdded && first + count < edges_.size() && edges_[first + count].parent == edges_[first].parent &&
         card(edges_[first].child) == card(edges_[first].parent) && card(edges_[first + count].child) == card(edges_[first].parent))
    ++count;
  return count;
}

int ReductionTree::add_upwards(const std::vector<Participant>& participants) {
  const auto bytes = static_cast<std::int64_t>(participants.front().buffer.bytes());
  int rounds = 0;
  for (std::size_t first = 0; first < edges_.size();) {
    const std::size_t count = added_at_once(participants, first);
    const int up = edges_[first].parent;
    const auto parent = static_cast<std::size_t>(up);
    const Participant& receiver = participants[parent];
    std::vector<Tensor> summands;
    std::vector<int> senders;
    for (std::size_t e = first; e < first + count; ++e) {
      const auto child = static_cast<std::size_t>(edges_[e].child);
      record(ready_, participants, child);
      on_behalf_of(parent, [&] { receiver.stream->wait(ready_[child]); });
      summands.push_back(participants[child].buffer);
      senders.push_back(edges_[e].child);
    }
    on_behalf_of(parent, [&] {
      const OpContext context{receiver.gpu, receiver.stream, {}};
      const auto all_bytes = static_cast<std::int64_t>(count) * bytes;
      deliver({senders, up, rounds, 0, 1, all_bytes, true}, *receiver.stream, receiver.buffer, [&] {
        if (count > 1) return ops::add_several(context, summands, receiver.buffer);
        const Participant& child = participants[static_cast<std::size_t>(senders.front())];
        add_between(context, *child.gpu, child.buffer, receiver.buffer, staging_[parent]);
      });
    });
    ++rounds;
    first += count;
  }
  return rounds;
}

// Every edge carries a buffer, each way.
Traffic ReductionTree::traffic(const std::vector<Participant>& participants, int ways) const {
  const auto messages = ways * static_cast<std::int64_t>(edges_.size());
  return {messages, messages * static_cast<std::int64_t>(participants.front().buffer.bytes()), {}};
}

Traffic ReductionTree::reduce(const std::vector<Participant>& participants) {
  if (nothing_to_do(participants)) return {};
  add_upwards(participants);
  // What a child does next may overwrite its buffer.
  for (std::size_t parent = 0; parent < participants.size(); ++parent) record(read_, participants, parent);
  for (const auto& [up, down] : edges_) {
    const auto child = static_cast<std::size_t>(down);
    on_behalf_of(child, [&, parent = static_cast<std::size_t>(up)] { participants[child].stream->wait(read_[parent]); });
  }
  Traffic sent = traffic(participants, 1);
  sent.put(0, static_cast<std::int64_t>(participants.front().buffer.bytes()));
  return sent;
}

Traffic ReductionTree::all_reduce(const std::vector<Participant>& participants) {
  if (nothing_to_do(participants)) return {};
  const auto bytes = static_cast<std::int64_t>(participants.front().buffer.bytes());
  int round = add_upwards(participants);
  Traffic sent = traffic(participants, 2);
  sent.put(0, bytes);
  for (auto edge = edges_.rbegin(); edge != edges_.rend(); ++edge) {
    const auto parent = static_cast<std::size_t>(edge->parent);
    const auto child = static_cast<std::size_t>(edge->child);
    record(ready_, participants, parent);
    on_behalf_of(child, [&] {
      const Participant& receiver = participants[child];
      receiver.stream->wait(ready_[parent]);
      deliver({{&edge->parent, 1}, edge->child, round++, 0, 1, bytes, false}, *receiver.stream, receiver.buffer, [&] {
        copy_between(*receiver.stream, *participants[parent].gpu, participants[parent].buffer.raw(), *receiver.gpu, receiver.buffer.raw(),
                     bytes);
      });
    });
    sent.put(child, bytes);
    record(read_, participants, child);
  }
  // What a parent does next may overwrite its buffer. It waits for all children here, so that they can read at the same time.
  for (const auto& [up, down] : edges_) {
    const auto parent = static_cast<std::size_t>(up);
    on_behalf_of(parent, [&, child = static_cast<std::size_t>(down)] { participants[parent].stream->wait(read_[child]); });
  }
  return sent;
}

}  // namespace lockstep
