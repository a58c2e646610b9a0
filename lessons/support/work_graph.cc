#include "work_graph.h"

#include <map>
#include <utility>

#include "simulator/gpu/runtime/recorder.h"

namespace lesson {

namespace {

using lockstep::sim::NodeKind;

int device_of(const void* address) {
  cudaPointerAttributes attributes{};
  if (cudaPointerGetAttributes(&attributes, address) != cudaSuccess || attributes.type != cudaMemoryTypeDevice) return -1;
  return attributes.device;
}

}  // namespace

WorkGraph::WorkGraph() { lockstep::sim::recorder().start(); }

WorkGraph::~WorkGraph() { stop(); }

void WorkGraph::stop() {
  if (std::exchange(stopped_, true)) return;
  const auto recorded = lockstep::sim::recorder().take();
  std::map<std::pair<lockstep::sim::Stream*, std::uint64_t>, int> index;
  std::map<lockstep::sim::Stream*, int> last;
  for (const auto& one : recorded) {
    const int i = static_cast<int>(work_.size());
    Work work;
    work.name = one.name;
    work.stream = one.stream;
    if (const auto previous = last.find(one.stream); previous != last.end()) work.after.push_back(previous->second);
    if (one.kind == NodeKind::wait) {
      if (const auto found = index.find({one.waits_for.stream, one.waits_for.sequence}); found != index.end()) {
        work.after.push_back(found->second);
      }
    }
    for (const auto& touched : one.touches) {
      (touched.touch.write ? work.writes : work.reads) = device_of(touched.touch.begin);
      if (touched.touch.write) work.target = touched.touch.begin;
    }
    last[one.stream] = i;
    index[{one.stream, one.sequence}] = i;
    std::vector<bool> ancestors(recorded.size(), false);
    for (const int direct : work.after) {
      ancestors[static_cast<std::size_t>(direct)] = true;
      for (std::size_t a = 0; a < recorded.size(); ++a) ancestors[a] = ancestors[a] || ancestors_[static_cast<std::size_t>(direct)][a];
    }
    work_.push_back(std::move(work));
    ancestors_.push_back(std::move(ancestors));
  }
}

int WorkGraph::rounds() const {
  int most = 0;
  std::vector<int> chain(work_.size(), 0);
  for (std::size_t i = 0; i < work_.size(); ++i) {
    for (const int direct : work_[i].after) chain[i] = std::max(chain[i], chain[static_cast<std::size_t>(direct)]);
    chain[i] += work_[i].is_message();
    most = std::max(most, chain[i]);
  }
  return most;
}

}  // namespace lesson
