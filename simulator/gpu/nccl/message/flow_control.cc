#include "simulator/gpu/nccl/message/flow_control.h"

#include <algorithm>
#include <utility>

namespace lockstep::sim::nccl {

namespace {

constexpr std::size_t kWindowBytes = 4 << 20;

}  // namespace

void FlowControl::send(const Flow& flow, Chunk chunk, Transport& transport) {
  Window& window = windows_[flow];
  window.waiting.push_back(std::move(chunk));
  send_waiting(flow, window, transport);
}

void FlowControl::send_waiting(const Flow& flow, Window& window, Transport& transport) {
  while (!window.waiting.empty()) {
    const std::size_t bytes = window.waiting.front()->size();
    if (window.on_its_way > 0 && window.on_its_way + bytes > kWindowBytes) return;
    window.on_its_way += bytes;
    Chunk chunk = std::move(window.waiting.front());
    window.waiting.pop_front();
    transport.send(flow, std::move(chunk));
  }
}

bool FlowControl::acknowledged(const Flow& flow, std::size_t bytes, Transport& transport) {
  const auto found = windows_.find(flow);
  if (found == windows_.end() || found->second.on_its_way < bytes) return false;
  found->second.on_its_way -= bytes;
  send_waiting(flow, found->second, transport);
  return true;
}

bool FlowControl::has_unsent(FlowKind kind, int from) const {
  return std::any_of(windows_.begin(), windows_.end(), [&](const auto& entry) {
    const auto& [flow, window] = entry;
    return !window.waiting.empty() && flow.kind == kind && flow.from == from;
  });
}

std::uint64_t FlowControl::deliver(const Flow& flow, Chunk chunk) {
  Inbox& inbox = inboxes_[flow];
  inbox.chunks.push_back(std::move(chunk));
  return std::exchange(inbox.waiting, 0);
}

bool FlowControl::has(const Flow& flow) const {
  const auto found = inboxes_.find(flow);
  return found != inboxes_.end() && !found->second.chunks.empty();
}

Chunk FlowControl::take(const Flow& flow, Transport& transport) {
  Inbox& inbox = inboxes_[flow];
  Chunk chunk = std::move(inbox.chunks.front());
  inbox.chunks.pop_front();
  inbox.unacknowledged += chunk->size();
  if (inbox.unacknowledged >= kWindowBytes / 4) transport.acknowledge(flow, std::exchange(inbox.unacknowledged, 0));
  return chunk;
}

bool FlowControl::depends_on(int rank) const {
  const auto waits_for = [rank](const auto& entry) { return entry.first.from == rank && entry.second.waiting != 0; };
  const auto sends_to = [rank](const auto& entry) { return entry.first.to == rank && !entry.second.waiting.empty(); };
  return std::any_of(inboxes_.begin(), inboxes_.end(), waits_for) || std::any_of(windows_.begin(), windows_.end(), sends_to);
}

void FlowControl::clear() {
  inboxes_.clear();
  windows_.clear();
}

}  // namespace lockstep::sim::nccl
