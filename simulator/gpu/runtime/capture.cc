#include "simulator/gpu/runtime/capture.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace lockstep::sim {

namespace {

constinit thread_local cudaStreamCaptureMode mode_of_thread = cudaStreamCaptureModeGlobal;

void join(std::vector<std::size_t>& clock, const std::vector<std::size_t>& other) {
  if (clock.size() < other.size()) clock.resize(other.size());
  for (std::size_t lane = 0; lane < other.size(); ++lane) clock[lane] = std::max(clock[lane], other[lane]);
}

}  // namespace

std::shared_ptr<Captures::Capture> Captures::of(const Stream* stream) const {
  const auto found = by_stream_.find(stream);
  return found != by_stream_.end() ? found->second : nullptr;
}

std::size_t Captures::lane_of(Capture& capture, Stream* stream) {
  const auto found = std::find(capture.lanes.begin(), capture.lanes.end(), stream);
  if (found != capture.lanes.end()) return static_cast<std::size_t>(found - capture.lanes.begin());
  capture.lanes.push_back(stream);
  capture.lane_nodes.emplace_back();
  capture.now.emplace_back();
  capture.known.emplace_back();
  return capture.lanes.size() - 1;
}

cudaError_t Captures::invalidate(Capture& capture, cudaError_t status) {
  capture.valid = false;
  return status;
}

cudaError_t Captures::begin(Stream* stream, cudaStreamCaptureMode mode) {
  if (mode < cudaStreamCaptureModeGlobal || mode > cudaStreamCaptureModeRelaxed) return cudaErrorInvalidValue;
  if (stream->legacy) return cudaErrorStreamCaptureUnsupported;
  const std::lock_guard lock(mutex_);
  if (of(stream) != nullptr) return cudaErrorIllegalState;
  auto capture = std::make_shared<Capture>();
  capture->origin = stream;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  lane_of(*capture, stream);
  by_stream_[stream] = std::move(capture);
  ++active_;
  return cudaSuccess;
}

void Captures::close(const std::shared_ptr<Capture>& capture) {
  capture->open = false;
  for (const Stream* lane : capture->lanes) by_stream_.erase(lane);
  --active_;
}

cudaError_t Captures::end(Stream* stream, cudaGraph_t* graph) {
  if (graph == nullptr) return cudaErrorInvalidValue;
  *graph = nullptr;
  const std::lock_guard lock(mutex_);
  const auto capture = of(stream);
  if (capture == nullptr) return cudaErrorIllegalState;
  if (capture->origin != stream) return invalidate(*capture, cudaErrorStreamCaptureUnmatched);
  if (capture->mode != cudaStreamCaptureModeRelaxed && capture->thread != std::this_thread::get_id()) {
    return invalidate(*capture, cudaErrorStreamCaptureWrongThread);
  }
  close(capture);
  if (!capture->valid) return cudaErrorStreamCaptureInvalidated;
  // Every node must have been waited for, directly or not, by what the origin would run next.
  Progress all;
  for (const auto& lane : capture->lane_nodes) all.push_back(lane.size());
  capture->now.front().resize(all.size());
  if (capture->now.front() != all) return cudaErrorStreamCaptureUnjoined;
  auto body = std::make_shared<GraphBody>();
  body->nodes = std::move(capture->nodes);
  for (const Stream* lane : capture->lanes) body->devices.push_back(lane->device);
  CUgraph_st* const made = graphs.take();
  made->body = std::move(body);
  made->alive.store(true, std::memory_order_release);
  *graph = made;
  return cudaSuccess;
}

cudaError_t Captures::status(Stream* stream, cudaStreamCaptureStatus* status) {
  if (status == nullptr) return cudaErrorInvalidValue;
  const std::lock_guard lock(mutex_);
  const auto capture = of(stream);
  *status = capture == nullptr ? cudaStreamCaptureStatusNone
            : capture->valid   ? cudaStreamCaptureStatusActive
                               : cudaStreamCaptureStatusInvalidated;
  if (!stream->legacy) return cudaSuccess;
  const bool tied = std::any_of(by_stream_.begin(), by_stream_.end(),
                                [&](const auto& each) { return each.first->blocking() && each.first->device == stream->device; });
  return tied ? cudaErrorStreamCaptureImplicit : cudaSuccess;
}

cudaError_t Captures::exchange_mode(cudaStreamCaptureMode* mode) {
  if (mode == nullptr || *mode < cudaStreamCaptureModeGlobal || *mode > cudaStreamCaptureModeRelaxed) return cudaErrorInvalidValue;
  std::swap(*mode, mode_of_thread);
  return cudaSuccess;
}

bool Captures::take(Stream* stream, Node& node, cudaError_t* status) {
  if (stream->legacy) {
    *status = refuse_legacy(stream);
    return *status != cudaSuccess;
  }
  const std::lock_guard lock(mutex_);
  const auto capture = of(stream);
  if (capture == nullptr) return false;
  *status = cudaSuccess;
  if (!capture->valid) {
    *status = cudaErrorStreamCaptureInvalidated;
    return true;
  }
  if (node.kind != NodeKind::kernel && node.kind != NodeKind::operation) {
    *status = invalidate(*capture, cudaErrorStreamCaptureUnsupported);
    return true;
  }
  const std::size_t lane = lane_of(*capture, stream);
  CUgraphNode_st kept;
  kept.kind = node.kind;
  kept.lane = static_cast<int>(lane);
  kept.parts = node.parts;
  if (node.kind == NodeKind::kernel) {
    kept.kernel = std::move(node.kernel);
  } else {
    kept.operation = std::move(node.operation);
  }
  Progress& now = capture->now[lane];
  Progress& known = capture->known[lane];
  now.resize(capture->lanes.size());
  known.resize(capture->lanes.size());
  for (std::size_t other = 0; other < now.size(); ++other) {
    if (other != lane && now[other] > known[other]) kept.after.push_back(capture->lane_nodes[other][now[other] - 1]);
  }
  known = now;
  capture->lane_nodes[lane].push_back(capture->nodes.size());
  capture->nodes.push_back(std::move(kept));
  now[lane] = capture->lane_nodes[lane].size();
  return true;
}

bool Captures::record(Event* event, Stream* stream, cudaError_t* status) {
  const std::lock_guard lock(mutex_);
  const auto capture = of(stream);
  if (capture == nullptr) return false;
  *status = capture->valid ? cudaSuccess : cudaErrorStreamCaptureInvalidated;
  if (!capture->valid) return true;
  by_event_[event] = {capture, capture->now[lane_of(*capture, stream)]};
  events_held_ = static_cast<int>(by_event_.size());
  return true;
}

bool Captures::wait(Stream* stream, Event* event, cudaError_t* status) {
  const std::lock_guard lock(mutex_);
  const auto mine = of(stream);
  const auto found = by_event_.find(event);
  const auto theirs = found != by_event_.end() ? found->second.capture : nullptr;
  if (mine == nullptr && theirs == nullptr) return false;
  *status = cudaSuccess;
  if (mine != nullptr && !mine->valid) {
    *status = cudaErrorStreamCaptureInvalidated;
  } else if (theirs == nullptr) {
    *status = invalidate(*mine, cudaErrorStreamCaptureIsolation);
  } else if (!theirs->open) {  // of a capture that is over
    *status = mine != nullptr ? invalidate(*mine, cudaErrorStreamCaptureIsolation) : cudaErrorCapturedEvent;
  } else if (mine != nullptr && mine != theirs) {
    *status = invalidate(*mine, invalidate(*theirs, cudaErrorStreamCaptureMerge));
  } else if (!theirs->valid) {
    *status = cudaErrorStreamCaptureInvalidated;
  } else if (stream->legacy) {
    *status = invalidate(*theirs, cudaErrorStreamCaptureImplicit);
  } else {
    by_stream_[stream] = theirs;
    join(theirs->now[lane_of(*theirs, stream)], found->second.before);
  }
  return true;
}

cudaError_t Captures::refuse(Stream* stream) {
  if (stream->legacy) return refuse_legacy(stream);
  const std::lock_guard lock(mutex_);
  const auto capture = of(stream);
  return capture != nullptr ? invalidate(*capture, cudaErrorStreamCaptureUnsupported) : cudaSuccess;
}

cudaError_t Captures::refuse_legacy(const Stream* stream) {
  const std::lock_guard lock(mutex_);
  cudaError_t status = cudaSuccess;
  for (const auto& [other, capture] : by_stream_) {
    if (other->blocking() && other->device == stream->device) status = invalidate(*capture, cudaErrorStreamCaptureImplicit);
  }
  return status;
}

cudaError_t Captures::refuse_event(const Event* event) {
  const std::lock_guard lock(mutex_);
  const auto found = by_event_.find(event);
  return found != by_event_.end() ? invalidate(*found->second.capture, cudaErrorCapturedEvent) : cudaSuccess;
}

cudaError_t Captures::refuse_device(int device) {
  const std::lock_guard lock(mutex_);
  cudaError_t status = cudaSuccess;
  for (const auto& [stream, capture] : by_stream_) {
    if (stream->device == device) status = invalidate(*capture, cudaErrorStreamCaptureUnsupported);
  }
  return status;
}

cudaError_t Captures::refuse_unsafe() {
  if (mode_of_thread == cudaStreamCaptureModeRelaxed) return cudaSuccess;
  const std::lock_guard lock(mutex_);
  cudaError_t status = cudaSuccess;
  for (const auto& [stream, capture] : by_stream_) {
    if (capture->mode == cudaStreamCaptureModeRelaxed) continue;
    const bool own = capture->thread == std::this_thread::get_id();
    const bool everywhere = capture->mode == cudaStreamCaptureModeGlobal && mode_of_thread == cudaStreamCaptureModeGlobal;
    if (own || everywhere) status = invalidate(*capture, cudaErrorStreamCaptureUnsupported);
  }
  return status;
}

void Captures::forget(Event* event) {
  const std::lock_guard lock(mutex_);
  by_event_.erase(event);
  events_held_ = static_cast<int>(by_event_.size());
}

void Captures::forget(Stream* stream) {
  const std::lock_guard lock(mutex_);
  const auto capture = of(stream);
  if (capture == nullptr) return;
  capture->valid = false;
  if (capture->origin == stream) {
    close(capture);
  } else {
    by_stream_.erase(stream);
    std::erase(capture->lanes, stream);
  }
}

}  // namespace lockstep::sim
