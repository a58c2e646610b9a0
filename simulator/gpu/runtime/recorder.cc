#include "simulator/gpu/runtime/recorder.h"

#include <utility>

#include "simulator/gpu/runtime/execute.h"
#include "simulator/gpu/runtime/runtime.h"

namespace lockstep::sim {

Recorder& recorder() {
  static Recorder one;
  return one;
}

void Recorder::start() {
  const std::lock_guard lock(mutex_);
  operations_.clear();
  on_.store(true, std::memory_order_relaxed);
}

std::vector<RecordedOperation> Recorder::take() {
  on_.store(false, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  return std::exchange(operations_, {});
}

void Recorder::add(Node& node) {
  RecordedOperation one;
  one.kind = node.kind;
  one.watching = node.watching;
  one.stream = node.stream;
  one.sequence = node.sequence;
  switch (node.kind) {
    case NodeKind::kernel:
      one.cost = node.kernel.cost;
      one.grid = node.kernel.grid;
      one.block = node.kernel.block;
      break;
    case NodeKind::operation:
      one.operation = node.what().kind;
      one.cost = node.what().cost;
      break;
    case NodeKind::wait:
      if (node.event != nullptr) one.waits_for = node.event->last;
      break;
    case NodeKind::gate:
      one.name = node.gate->name;
      break;
    case NodeKind::record:
      break;
  }
  if (node.kind == NodeKind::kernel || node.kind == NodeKind::operation) {
    one.name = name_of(node);
    for (const Touch& touch : touches_of(node)) {
      const std::optional<Block> block = runtime().memory.find(touch.begin);
      one.touches.push_back({touch, block ? reinterpret_cast<const void*>(block->begin) : nullptr});
    }
  }
  const std::lock_guard lock(mutex_);
  operations_.push_back(std::move(one));
}

}  // namespace lockstep::sim
