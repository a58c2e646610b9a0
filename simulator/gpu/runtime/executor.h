// Runs what streams hold: worker threads take the next node of a ready stream.
//
// A stream whose next node must wait (an event, a gate, the legacy stream) is parked and costs nothing; no worker blocks.
// An operation with several parts is offered to all workers; the one that started it takes part after part, others help when they have
// nothing else to do. A worker stays with the stream that it ran last while it can, since its caches hold that stream's data. Functions of
// the host run on a thread of their own, so that one that waits does not stop the devices. One lock protects all queues; it is held for
// some tens of nanoseconds.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "simulator/gpu/runtime/idle_workers.h"
#include "simulator/gpu/runtime/node_pool.h"
#include "simulator/gpu/runtime/queue.h"
#include "simulator/gpu/runtime/schedule.h"
#include "simulator/gpu/runtime/slots.h"
#include "simulator/gpu/runtime/spin.h"

namespace lockstep::sim {

class Checker;

class Executor {
 public:
  Executor(int devices, int workers, std::uint64_t seed, Checker* check = nullptr);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  void stop();  // workers finish the part they are at and go

  Stream* legacy_stream(int device) { return devices_[static_cast<std::size_t>(device)].legacy; }
  Stream* create_stream(int device, unsigned flags, bool counted = true);
  void destroy_stream(Stream* stream);  // queued work still runs
  bool valid(const Stream* stream) const { return streams_.valid(stream); }

  Event* create_event(int device, unsigned flags);
  void destroy_event(Event* event);
  bool valid(const Event* event) const { return events_.valid(event); }
  void record(Event* event, Stream* stream);
  void wait_event(Stream* stream, Event* event);

  // A node to fill in, and the end of the stream's queue. Waits for the legacy stream are added here.
  Node* take_node(NodeKind kind);
  void put_back(Node* node);  // one that was not appended after all
  void append(Stream* stream, Node* node);
  // Behind everything that was queued on these devices, and before everything that will be.
  void append_fenced(Stream* stream, Node* node, const std::vector<int>& devices);
  // All of a graph, with one lock: the launch is complete when the returned moment has passed. `lanes` are the streams of the
  // graph's lanes, `previous` the last launch of it.
  Moment append_graph(Stream* stream, const std::shared_ptr<const GraphBody>& body, const std::vector<Stream*>& lanes, Moment previous);
  void open(Gate& gate);

  // The host's side.
  struct Record {
    Moment moment;
    std::int64_t time_ns = 0;
  };
  Record last_record(const Event* event);
  Moment last_of(const Stream* stream);
  static bool passed(const Moment& moment) {
    return moment.stream == nullptr || moment.stream->completed.load(std::memory_order_acquire) >= moment.sequence;
  }
  void wait(const Moment& moment);
  void wait_untimed(const Moment& moment);
  bool has_passed(const Moment& moment);  // as the host learns it
  void wait_stream(Stream* stream);       // the legacy stream: all blocking streams of its device too
  void wait_device(int device);
  void wait_device_untimed(int device);  // the calling thread's modelled time stays what it is
  bool is_idle(Stream* stream);

  // What check mode needs to find deadlocks: `look` sees all streams while none of them moves, and returns the gates to open.
  using Look = std::function<std::vector<std::shared_ptr<Gate>>(const std::vector<Stream*>& streams, bool host_waits)>;
  void inspect(const Look& look);
  bool stopping() const { return stopping_.load(std::memory_order_relaxed); }

  // Sticky errors.
  cudaError_t error(int device) const { return devices_[static_cast<std::size_t>(device)].error.load(std::memory_order_acquire); }
  void fail(int device, cudaError_t status, const std::string& what);
  std::string failure(int device);  // the text that `fail` was given; empty: the device has not failed
  void clear_errors();

  void set_seed(std::uint64_t seed);
  std::uint64_t seed();
  std::uint64_t operations() const { return operations_.load(std::memory_order_relaxed); }
  std::uint64_t live_streams() const { return live_streams_.load(std::memory_order_relaxed); }
  std::uint64_t live_events() const { return live_events_.load(std::memory_order_relaxed); }

 private:
  struct Device {
    Stream* legacy = nullptr;
    std::vector<Stream*> streams;  // created, and destroyed ones until their work is done
    Moment fence;                  // what is appended now waits for it
    std::atomic<cudaError_t> error{cudaSuccess};
    std::string failure;
  };
  using Lock = std::unique_lock<SpinMutex>;

  bool append_locked(Stream* stream, Node* node);  // true: the stream was idle
  void work(int index);
  void work_for_host();
  void sleep_until(const Moment& moment);
  Stream* pick(int index, Lock& lock);
  void start(Stream* stream, Lock& lock);
  bool waits(Node& node);
  void arrive(Node& node);
  void run_alone(Node& node, Lock& lock);
  void offer_parts(Node& node, Lock& lock);
  void run_claimed(Node& node, Lock& lock);
  void complete(Node& node);
  void make_ready(Stream* stream);
  void let_through(Gate& gate);
  template <typename Run>
  void guarded(Node& node, const Run& run);
  void clean(Node& node);
  static void release(Node& node);
  std::vector<Moment> pending_of_device(int device, bool blocking_only);

  Checker* const check_;  // null unless check mode is on
  SpinMutex mutex_;
  std::deque<Device> devices_;
  std::mutex failing_;  // a device's error and its report belong together
  Slots<Stream> streams_;
  Slots<Event> events_;
  Schedule schedule_;
  IdleWorkers idle_;
  std::deque<Node*> host_jobs_;
  std::atomic<std::uint32_t> host_bell_{0};
  std::atomic<int> host_waiters_{0};
  std::atomic<bool> stopping_{false};
  NodePool nodes_;
  std::atomic<std::uint64_t> operations_{0}, live_streams_{0}, live_events_{0};
  std::vector<std::thread> threads_;
};

// Whether the calling thread runs operations; CUDA calls are refused there.
bool on_worker_thread();

}  // namespace lockstep::sim
