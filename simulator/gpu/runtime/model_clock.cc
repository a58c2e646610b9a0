#include "simulator/gpu/runtime/model_clock.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>

#include "simulator/gpu/runtime/config.h"

namespace lockstep::sim {

namespace {

constexpr clock::Time kPerNanosecond = 1000;

constinit thread_local bool in_graph = false;
constinit thread_local double gate_us = 0;
thread_local std::optional<clock::CollectiveShape> collective_note;

int place_of(const void* address) {
  const int device = device_of_address(address);
  return device < 0 ? clock::kHost : device;
}

// What is known of a launch without its machine code: registers stay at Launch's own number.
clock::Launch launch_of(const KernelCall& call) {
  const auto count = [](const dim3& size) { return static_cast<std::uint64_t>(size.x) * size.y * size.z; };
  clock::Launch launch;
  launch.blocks = count(call.grid);
  launch.threads = static_cast<int>(count(call.block));
  launch.shared_bytes = call.shared_bytes;
  return launch;
}

// An operation that only puts together what parts have made: a GPU has none of it.
bool is_of_this_cpu(const Node& node) {
  if (node.kind != NodeKind::operation || node.what().kind != OperationKind::convolution) return false;
  return node.what().name.ends_with(": sum of parts");
}

bool says(const char* name, const char* word) {
  const char* value = std::getenv(name);
  return value != nullptr && std::string(value) == word;
}

}  // namespace

bool no_math() {
  static const bool yes = says("LOCKSTEP_SIM_NO_MATH", "1");
  return yes;
}

const clock::Machine& modelled_machine() {
  static const clock::Machine machine = [] {
    clock::Machine model = config().machine;
    const char* nodes = std::getenv("LOCKSTEP_SIM_NODES");
    if (nodes == nullptr || *nodes == '\0') model.gpus_per_node = std::max(1, model.gpus);
    return model;
  }();
  return machine;
}

ModelClock* model_clock() {
  static const std::unique_ptr<ModelClock> one = (says("LOCKSTEP_SIM_CLOCK", "model") || no_math()) && config().problem.empty()
                                                     ? std::make_unique<ModelClock>(modelled_machine())
                                                     : nullptr;
  return one.get();
}

ModelClock::InGraph::InGraph() { in_graph = true; }
ModelClock::InGraph::~InGraph() { in_graph = false; }

void ModelClock::next_collective_is(const clock::CollectiveShape& shape) { collective_note = shape; }
void ModelClock::next_gate_lasts(double microseconds) { gate_us = microseconds; }

ModelClock::ModelClock(const clock::Machine& machine) : hardware_(machine, timeline_, machine.gpus) {}

int ModelClock::host() {
  static thread_local int mine = -1;
  if (mine < 0) mine = timeline_.add_host();
  return mine;
}

int ModelClock::lane(const Stream* stream) {
  const auto [found, fresh] = lanes_.try_emplace(stream, -1);
  if (fresh) found->second = timeline_.add_lane();
  return found->second;
}

// With a lane for what the host copies before it issues there. Lanes are numbered as streams are made, never as threads come.
void ModelClock::created(const Stream* stream) {
  const std::lock_guard lock(mutex_);
  timeline_.free_lane(lane(stream));
  const auto [found, fresh] = copy_lanes_.try_emplace(stream, -1);
  if (fresh) found->second = timeline_.add_lane();
}

void ModelClock::created(const Event* event) {
  const std::lock_guard lock(mutex_);
  stamps_.erase(event);
}

clock::Task ModelClock::task_of(const Operation& operation, int device, const clock::CollectiveShape* collective) const {
  const Cost& cost = operation.cost;
  switch (operation.kind) {
    case OperationKind::matmul:
      return hardware_.kernel(device, clock::Kind::matmul, clock::Arithmetic::fp32, cost.flops, cost.bytes);
    case OperationKind::convolution:
      return hardware_.kernel(device, clock::Kind::convolution, clock::Arithmetic::fp32, cost.flops, cost.bytes);
    case OperationKind::kernel:
      return hardware_.kernel(device, clock::kind_of_kernel(operation.name), clock::Arithmetic::fp32, cost.flops, cost.bytes);
    case OperationKind::memset:
      return hardware_.fill(device, cost.bytes);
    case OperationKind::copy: {
      int from = clock::kHost, to = clock::kHost;
      double bytes = 0;
      for (const Touch& touch : operation.touches) {
        (touch.write ? to : from) = place_of(touch.begin);
        bytes = static_cast<double>(touch.bytes);
      }
      return hardware_.copy(device, from, to, bytes);
    }
    case OperationKind::collective:
      if (collective == nullptr) return hardware_.fill(device, cost.bytes);
      return hardware_.collective(
          device, clock::collective_time(hardware_.machine(), collective->what, collective->bytes, collective->ranks, collective->allowed),
          collective->bytes);
    case OperationKind::host_function:
    case OperationKind::marker:
      break;
  }
  return {};
}

clock::Task ModelClock::gate_task(const Node& node) {
  clock::Task task;
  const Gate& gate = *node.gate;
  task.fixed = clock::from_us(std::exchange(gate_us, 0));
  if (gate.expected >= kOpenedFromOutside || gate.open) return task;
  Met& met = meetings_[&gate];
  if (met.meeting == nullptr || met.gate.lock() != node.gate) {  // an earlier gate may have had this address
    met = {node.gate, std::make_shared<clock::Meeting>()};
    met.meeting->expected = gate.expected;
  }
  task.meeting = met.meeting;
  return task;
}

clock::Task ModelClock::task_of(const Node& node) {
  const int device = node.stream->device;
  switch (node.kind) {
    case NodeKind::kernel:
      return hardware_.kernel(device, clock::kind_of_kernel(node.kernel.name != nullptr ? node.kernel.name : ""), launch_of(node.kernel),
                              node.kernel.cost.flops, node.kernel.cost.bytes);
    case NodeKind::operation:
      return task_of(node.what(), device, collective_note ? &*collective_note : nullptr);
    case NodeKind::record: {
      clock::Task task;
      task.done = stamps_[node.event] = std::make_shared<clock::Stamp>();
      return task;
    }
    case NodeKind::gate:
      return gate_task(node);
    case NodeKind::wait:
      break;
  }
  return {};
}

void ModelClock::issued(const Node& node) {
  const std::lock_guard lock(mutex_);
  const bool unseen = is_of_this_cpu(node);
  clock::Task task = unseen ? clock::Task{} : task_of(node);
  for (const Moment& moment : node.after) {
    if (moment.stream != nullptr && moment.stream != node.stream) task.after.push_back({lane(moment.stream), moment.sequence});
  }
  const int me = host();
  const bool launches = node.kind == NodeKind::kernel || node.kind == NodeKind::operation;
  if (!in_graph && !unseen && node.kind != NodeKind::gate) spend(me, launches ? hardware_.launch() : hardware_.call());
  const int on = lane(node.stream);
  const bool collective = node.kind == NodeKind::operation && node.what().kind == OperationKind::collective && collective_note.has_value();
  if (recording_ != nullptr)
    recording_->append({on, node.sequence}, task, me, node.stream->device, collective ? &*collective_note : nullptr);
  if (collective) collective_note.reset();
  timeline_.append(on, std::move(task), me);
}

void ModelClock::opened(const Gate& gate) {
  const std::lock_guard lock(mutex_);
  const auto found = meetings_.find(&gate);
  if (found != meetings_.end() && found->second.gate.lock().get() == &gate) timeline_.open(*found->second.meeting);
}

void ModelClock::host_waits(const Moment& moment) {
  if (moment.stream == nullptr) return;
  const std::lock_guard lock(mutex_);
  const clock::Moment there{lane(moment.stream), moment.sequence};
  const int me = host();
  if (recording_ != nullptr) recording_->wait(me, there);
  timeline_.wait(me, there);
}

void ModelClock::spend(int who, clock::Time time) {
  if (recording_ != nullptr) recording_->spend(who, time);
  timeline_.spend(who, time);
}

void ModelClock::host_copies(const Stream* stream, double bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = copy_lanes_.find(stream);
  if (found == copy_lanes_.end()) return;
  const int me = host();
  const clock::Task task = hardware_.host_copy(stream->device, bytes);
  const clock::Moment there = timeline_.append(found->second, task, me);
  if (recording_ != nullptr) {
    recording_->append(there, task, me, -1, nullptr);
    recording_->wait(me, there);
  }
  timeline_.wait(me, there);
}

void ModelClock::host_posts(const void* where) {
  const std::lock_guard lock(mutex_);
  const int me = host();
  clock::StampPtr stamp = timeline_.mark(me);
  if (recording_ != nullptr) recording_->mark(me, stamp);
  posts_[where][me] = std::move(stamp);
}

void ModelClock::host_meets(const void* where) {
  const std::lock_guard lock(mutex_);
  const auto found = posts_.find(where);
  if (found == posts_.end()) return;
  const int me = host();
  for (const auto& [other, stamp] : found->second) {
    if (other == me) continue;
    if (recording_ != nullptr) recording_->wait(me, stamp);
    timeline_.wait(me, stamp);
  }
}

std::int64_t ModelClock::host_ns() {
  const std::lock_guard lock(mutex_);
  const clock::Time time = timeline_.settle(host());
  return (time == clock::kNever ? timeline_.now() : time) / kPerNanosecond;
}

std::int64_t ModelClock::ns_of(const Event* event) {
  const std::lock_guard lock(mutex_);
  const auto found = stamps_.find(event);
  if (found == stamps_.end()) return -1;
  const clock::StampPtr stamp = found->second;
  timeline_.settle(stamp);
  return stamp->at == clock::kNever ? -1 : stamp->at / kPerNanosecond;
}

void ModelClock::start_recording() {
  const std::lock_guard lock(mutex_);
  recording_ = std::make_unique<clock::Recording>();
}

std::unique_ptr<clock::Recording> ModelClock::take_recording() {
  const std::lock_guard lock(mutex_);
  return std::move(recording_);
}

}  // namespace lockstep::sim
