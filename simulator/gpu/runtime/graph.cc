// Launching a graph.
#include "simulator/gpu/runtime/graph.h"

#include <algorithm>
#include <cstring>

#include <backend/watching.h>
#include "simulator/gpu/runtime/executor.h"
#include "simulator/gpu/runtime/model_clock.h"

namespace lockstep::sim {

namespace {

void copy_call(const CUgraphNode_st& from, KernelCall& to) {
  const KernelCall& call = from.kernel;
  to.kernel = call.kernel;
  to.signature = call.signature;
  to.name = call.name;
  to.cost = call.cost;
  to.grid = call.grid;
  to.block = call.block;
  to.mode = call.mode;
  to.code = call.code;
  to.shared_bytes = call.shared_bytes;
  to.pack(call.packed());
}

}  // namespace

Moment Executor::append_graph(Stream* stream, const std::shared_ptr<const GraphBody>& body, const std::vector<Stream*>& lanes,
                              Moment previous) {
  const std::size_t count = body->nodes.size();
  const bool forks = lanes.size() > 1 || lanes[0] != nullptr;  // a null lane is the stream it is launched on
  Node* unfilled = nodes_.take(count);
  Node* filled = nullptr;
  for (std::size_t i = count; i-- > 0;) {
    const CUgraphNode_st& from = body->nodes[i];
    Node* const node = unfilled;
    unfilled = node->next;
    node->kind = from.kind;
    node->parts = from.parts;
    node->event = nullptr;
    node->planned = cudaSuccess;
    node->watching = is_watching();
    if (from.kind == NodeKind::kernel) {
      copy_call(from, node->kernel);
    } else {
      node->borrowed = &from.operation;
      node->body = body;
    }
    node->next = filled;
    filled = node;
  }
  Node* const first = take_node(NodeKind::wait);
  Node* const last = forks ? take_node(NodeKind::wait) : nullptr;

  std::vector<std::uint64_t> sequences(count);
  std::vector<Moment> ends(lanes.size());
  int awake = 0;
  Moment end;
  {
    const Lock lock(mutex_);
    if (previous.stream != nullptr && previous.stream != stream && (!passed(previous) || check_ != nullptr || model_clock() != nullptr))
      first->after.push_back(previous);
    append_locked(stream, first);  // for the model clock: the launch
    const ModelClock::InGraph one_launch;
    const Moment begin{stream, first->sequence};
    for (std::size_t i = 0; i < count; ++i) {
      const CUgraphNode_st& from = body->nodes[i];
      const auto lane = static_cast<std::size_t>(from.lane);
      Stream* const on = lanes[lane] != nullptr ? lanes[lane] : stream;
      Node* const node = filled;
      filled = node->next;
      node->next = nullptr;
      if (on != stream && ends[lane].stream == nullptr) node->after.push_back(begin);
      for (const std::size_t other : from.after) {
        Stream* const there = lanes[static_cast<std::size_t>(body->nodes[other].lane)];
        node->after.push_back({there != nullptr ? there : stream, sequences[other]});
      }
      append_locked(on, node);
      sequences[i] = node->sequence;
      ends[lane] = {on, node->sequence};
    }
    if (forks) {
      std::copy_if(ends.begin(), ends.end(), std::back_inserter(last->after),
                   [&](const Moment& moment) { return moment.stream != nullptr && moment.stream != stream; });
      append_locked(stream, last);
    }
    end = {stream, stream->submitted};
    awake = idle_.to_wake();
  }
  idle_.wake(awake);
  return end;
}

}  // namespace lockstep::sim
