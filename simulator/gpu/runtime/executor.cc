// Queues and host side of the executor; worker.cc is the other half.
#include "simulator/gpu/runtime/executor.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include <backend/watching.h>
#include "simulator/gpu/runtime/checker.h"
#include "simulator/gpu/runtime/model_clock.h"
#include "simulator/gpu/runtime/recorder.h"

namespace lockstep::sim {

namespace {

// Whether a node is ordered behind completed work too: check mode and the model clock depend on the order, not on what has run by now.
bool orders_all(const Checker* check) { return check != nullptr || model_clock() != nullptr; }

}  // namespace

Executor::Executor(int devices, int workers, std::uint64_t seed, Checker* check) : check_(check), schedule_(seed), idle_(schedule_) {
  for (int d = 0; d < devices; ++d) {
    Device& device = devices_.emplace_back();
    device.legacy = streams_.take();
    device.legacy->device = d;
    device.legacy->legacy = true;
    device.legacy->alive = true;
  }
  if (devices == 0) return;
  threads_.reserve(static_cast<std::size_t>(workers) + 2);
  for (int w = 0; w < workers; ++w) threads_.emplace_back([this, w] { work(w); });
  threads_.emplace_back([this] { work_for_host(); });
  if (check_ != nullptr && check_->checks().deadlock) threads_.emplace_back([this] { check_->watch_for_deadlock(*this); });
}

Executor::~Executor() { stop(); }

void Executor::stop() {
  if (stopping_.exchange(true)) return;
  idle_.wake_all();
  host_bell_.fetch_add(1);
  host_bell_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

Stream* Executor::create_stream(int device, unsigned flags, bool counted) {
  Stream* const stream = streams_.take();
  const Lock lock(mutex_);
  stream->device = device;
  stream->flags = flags;
  stream->legacy = false;
  stream->counted = counted;
  stream->worker = -1;
  devices_[static_cast<std::size_t>(device)].streams.push_back(stream);
  stream->alive.store(true, std::memory_order_release);
  if (counted) ++live_streams_;
  if (check_ != nullptr) check_->created(stream);
  if (ModelClock* const model = model_clock()) model->created(stream);
  return stream;
}

void Executor::destroy_stream(Stream* stream) {
  const Lock lock(mutex_);
  stream->alive.store(false, std::memory_order_release);
  if (stream->counted) --live_streams_;
  if (check_ != nullptr) check_->destroyed(stream);
  if (!stream->pending()) {
    std::erase(devices_[static_cast<std::size_t>(stream->device)].streams, stream);
    streams_.put_back(stream);
  }
}

Event* Executor::create_event(int device, unsigned flags) {
  Event* const event = events_.take();
  const Lock lock(mutex_);
  event->device = device;
  event->flags = flags;
  event->last = {};
  if (ModelClock* const model = model_clock()) model->created(event);
  event->alive.store(true, std::memory_order_release);
  ++live_events_;
  return event;
}

void Executor::destroy_event(Event* event) {
  {
    const Lock lock(mutex_);
    event->alive.store(false, std::memory_order_release);
    ++event->records;
    --live_events_;
  }
  events_.put_back(event);
}

Node* Executor::take_node(NodeKind kind) {
  Node* const node = nodes_.take(1);
  node->kind = kind;
  node->parts = 1;
  node->event = nullptr;
  node->planned = cudaSuccess;
  node->watching = is_watching();
  return node;
}

void Executor::put_back(Node* node) {
  release(*node);
  node->gate.reset();
  node->after.clear();
  nodes_.put_back(node);
}

void Executor::append(Stream* stream, Node* node) {
  int awake = 0;
  {
    const Lock lock(mutex_);
    if (append_locked(stream, node)) awake = idle_.to_wake();
  }
  idle_.wake(awake);
}

bool Executor::append_locked(Stream* stream, Node* node) {
  Device& device = devices_[static_cast<std::size_t>(stream->device)];
  if (stream->legacy) {
    for (Stream* other : device.streams) {
      if (other->blocking() && (other->pending() || orders_all(check_))) node->after.push_back({other, other->submitted});
    }
    if (check_ != nullptr) {
      for (const Moment& gone : check_->retired(stream->device, true)) node->after.push_back(gone);
    }
  } else if (stream->blocking() && (device.legacy->pending() || orders_all(check_))) {
    node->after.push_back({device.legacy, device.legacy->submitted});
  }
  if (device.fence.stream != nullptr) {
    if (passed(device.fence) && !orders_all(check_)) {
      device.fence = {};
    } else {
      node->after.push_back(device.fence);
    }
  }
  node->stream = stream;
  node->sequence = ++stream->submitted;
  if (node->kind == NodeKind::kernel) node->kernel.seed = schedule_.seed() * 0x9e3779b97f4a7c15U + node->sequence;
  if (node->kind == NodeKind::record) {
    node->record = ++node->event->records;
    node->event->last = {stream, node->sequence};
  } else if (node->kind == NodeKind::wait && node->event != nullptr && node->event->last.stream != nullptr) {
    node->after.push_back(node->event->last);
  }
  if (recorder().on()) recorder().add(*node);
  if (check_ != nullptr) check_->issued(*node);
  if (ModelClock* const model = model_clock()) model->issued(*node);
  (stream->head == nullptr ? stream->head : stream->tail->next) = node;
  stream->tail = node;
  if (stream->busy) return false;
  make_ready(stream);
  return true;
}

void Executor::append_fenced(Stream* stream, Node* node, const std::vector<int>& devices) {
  int awake = 0;
  {
    const Lock lock(mutex_);
    for (const int d : devices) {
      const Device& device = devices_[static_cast<std::size_t>(d)];
      const auto before = [&](Stream* other) {
        if (other != stream && (other->pending() || orders_all(check_))) node->after.push_back({other, other->submitted});
      };
      before(device.legacy);
      if (!passed(device.fence) || orders_all(check_)) node->after.push_back(device.fence);
      for (Stream* other : device.streams) before(other);
    }
    append_locked(stream, node);
    for (const int d : devices) devices_[static_cast<std::size_t>(d)].fence = {stream, node->sequence};
    awake = idle_.to_wake();
  }
  idle_.wake(awake);
}

void Executor::record(Event* event, Stream* stream) {
  Node* const node = take_node(NodeKind::record);
  node->event = event;
  append(stream, node);
}

void Executor::wait_event(Stream* stream, Event* event) {
  Node* const node = take_node(NodeKind::wait);
  node->event = event;
  append(stream, node);
}

void Executor::open(Gate& gate) {
  int awake = 0;
  {
    const Lock lock(mutex_);
    if (ModelClock* const model = model_clock()) model->opened(gate);
    let_through(gate);
    awake = idle_.to_wake();
  }
  idle_.wake(awake);
}

void Executor::inspect(const Look& look) {
  int awake = 0;
  {
    const Lock lock(mutex_);
    std::vector<Stream*> streams;
    for (const Device& device : devices_) {
      streams.push_back(device.legacy);
      streams.insert(streams.end(), device.streams.begin(), device.streams.end());
    }
    const auto gates = look(streams, host_waiters_.load(std::memory_order_relaxed) > 0);
    if (gates.empty()) return;
    for (const auto& gate : gates) let_through(*gate);
    awake = idle_.to_wake();
  }
  idle_.wake(awake);
}

void Executor::let_through(Gate& gate) {
  gate.open = true;
  for (Stream* stream : std::exchange(gate.arrived, {})) make_ready(stream);
}

Executor::Record Executor::last_record(const Event* event) {
  const Lock lock(mutex_);
  return {event->last, event->time_ns};
}

Moment Executor::last_of(const Stream* stream) {
  const Lock lock(mutex_);
  return {const_cast<Stream*>(stream), stream->submitted};
}

void Executor::wait_untimed(const Moment& moment) {
  sleep_until(moment);
  if (check_ != nullptr) check_->host_saw(moment);
}

void Executor::wait(const Moment& moment) {
  wait_untimed(moment);
  if (ModelClock* const model = model_clock()) model->host_waits(moment);
}

bool Executor::has_passed(const Moment& moment) {
  if (!passed(moment)) return false;
  if (check_ != nullptr) check_->host_saw(moment);
  if (ModelClock* const model = model_clock()) model->host_waits(moment);
  return true;
}

void Executor::sleep_until(const Moment& moment) {
  if (spin_until(4, [&] { return passed(moment); })) return;
  // It belongs to the thread, not to the call: the waking thread may still be in notify_one when this call has returned.
  static thread_local HostWait mine;
  {
    const Lock lock(mutex_);
    if (passed(moment)) return;
    mine.done.store(0, std::memory_order_relaxed);
    moment.stream->waiters.push_back({moment.sequence, nullptr, &mine});
    ++host_waiters_;
  }
  mine.done.wait(0, std::memory_order_acquire);
}

std::vector<Moment> Executor::pending_of_device(int device, bool blocking_only) {
  std::vector<Moment> moments;
  const Lock lock(mutex_);
  const Device& here = devices_[static_cast<std::size_t>(device)];
  if (here.legacy->pending() || orders_all(check_)) moments.push_back({here.legacy, here.legacy->submitted});
  for (Stream* stream : here.streams) {
    if ((stream->pending() || orders_all(check_)) && (stream->blocking() || !blocking_only)) moments.push_back({stream, stream->submitted});
  }
  if (check_ != nullptr) {  // what is done counts as well: the host learns that it is
    for (const Moment& gone : check_->retired(device, blocking_only)) moments.push_back(gone);
  }
  return moments;
}

void Executor::wait_stream(Stream* stream) {
  if (!stream->legacy) return wait(last_of(stream));
  for (const Moment& moment : pending_of_device(stream->device, true)) wait(moment);
}

void Executor::wait_device(int device) {
  for (const Moment& moment : pending_of_device(device, false)) wait(moment);
}

void Executor::wait_device_untimed(int device) {
  for (const Moment& moment : pending_of_device(device, false)) wait_untimed(moment);
}

bool Executor::is_idle(Stream* stream) {
  if (!stream->legacy) return has_passed(last_of(stream));
  const std::vector<Moment> moments = pending_of_device(stream->device, true);
  return std::all_of(moments.begin(), moments.end(), [this](const Moment& moment) { return has_passed(moment); });
}

// The report comes before the error: a thread that sees the error, say in a synchronisation that returns at once, finds the report.
void Executor::fail(int device, cudaError_t status, const std::string& what) {
  const std::lock_guard lock(failing_);
  std::atomic<cudaError_t>& error = devices_[static_cast<std::size_t>(device)].error;
  if (error.load(std::memory_order_relaxed) != cudaSuccess) return;
  std::fprintf(stderr, "virtual GPU %d: %s: %s\n", device, cudaGetErrorName(status), what.c_str());
  if (check_ != nullptr) check_->report(what);
  devices_[static_cast<std::size_t>(device)].failure = what;
  error.store(status, std::memory_order_release);
}

std::string Executor::failure(int device) {
  const std::lock_guard lock(failing_);
  const Device& asked = devices_[static_cast<std::size_t>(device)];
  return asked.error.load(std::memory_order_relaxed) == cudaSuccess ? "" : asked.failure;
}

void Executor::clear_errors() {
  for (Device& device : devices_) device.error.store(cudaSuccess, std::memory_order_release);
}

void Executor::set_seed(std::uint64_t seed) {
  {
    const Lock lock(mutex_);
    schedule_.set_seed(seed);
  }
  idle_.wake_all();
}

std::uint64_t Executor::seed() {
  const Lock lock(mutex_);
  return schedule_.seed();
}

}  // namespace lockstep::sim
