// What a stream holds: nodes in order. Streams, events and gates are plain data that the executor's lock protects.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "simulator/gpu/runtime/control.h"
#include "simulator/gpu/runtime/device_kernel.h"
#include "simulator/gpu/runtime/operation.h"

namespace lockstep::sim {

using Stream = CUstream_st;
using Event = CUevent_st;

// "All nodes of the stream up to this sequence number are complete." Numbers go on growing when a new stream takes the slot of a destroyed
// one, so a moment keeps its meaning.
struct Moment {
  Stream* stream = nullptr;
  std::uint64_t sequence = 0;
};

struct GraphBody;
struct NodeCheck;  // this and VectorClock belong to check mode, simulator/gpu/check
class VectorClock;

// A kernel launch without allocation: the packed arguments are inside unless they are unusually many. A launch of device code alone has no
// function, and its signature names no views.
struct KernelCall {
  static constexpr std::size_t kInline = 320;
  void (*kernel)() = nullptr;
  const Signature* signature = nullptr;
  const char* name = nullptr;  // may be null: then it is looked up for a message
  Cost cost;
  dim3 grid, block;
  KernelMode mode = KernelMode::fast;
  std::uint64_t seed = 0;
  alignas(16) std::byte inside[kInline];
  std::unique_ptr<std::byte[]> outside;

  std::shared_ptr<const DeviceKernel> code;  // of KernelMode::ptx
  std::size_t shared_bytes = 0;              // dynamic ones

  std::size_t bytes() const { return signature->count > 0 || code == nullptr ? signature->bytes : code->argument_bytes(); }
  void pack(const std::byte* arguments) {
    if (bytes() > kInline) outside = std::make_unique<std::byte[]>(bytes());
    std::memcpy(packed(), arguments, bytes());
  }
  std::byte* packed() { return outside ? outside.get() : inside; }
  const std::byte* packed() const { return outside ? outside.get() : inside; }
};

enum class NodeKind : std::uint8_t { operation, kernel, record, wait, gate };

struct Node {
  Node* next = nullptr;
  Stream* stream = nullptr;
  NodeKind kind = NodeKind::operation;
  bool skipped = false;   // the device has failed
  bool watching = false;  // issued under a Watching, see watching.h
  std::uint64_t sequence = 0;
  std::vector<Moment> after;  // must have passed before the node starts
  int parts = 1, claimed = 0, finished = 0;
  std::vector<int> part_order;  // empty: ascending

  Operation operation;
  KernelCall kernel;
  Event* event = nullptr;
  std::uint64_t record = 0;
  std::shared_ptr<Gate> gate;

  cudaError_t planned = cudaSuccess;      // faults.h: it fails when it runs
  const Operation* borrowed = nullptr;    // of a graph: used instead of `operation`
  std::shared_ptr<const GraphBody> body;  // which owns the borrowed one

  std::shared_ptr<NodeCheck> check;  // null unless check mode is on

  const Operation& what() const { return borrowed != nullptr ? *borrowed : operation; }
};

// A host thread that sleeps until a moment has passed.
struct HostWait {
  std::atomic<std::uint32_t> done{0};
};

struct Waiter {
  std::uint64_t sequence = 0;
  Stream* stream = nullptr;  // either a parked stream
  HostWait* host = nullptr;  // or a host thread
};

class Gate {
 public:
  int expected = 0;
  std::string name;
  bool open = false;
  std::vector<Stream*> arrived;
  std::shared_ptr<VectorClock> clock;  // what all that have come know; check mode
};

}  // namespace lockstep::sim

struct CUstream_st {
  std::atomic<bool> alive{false};
  int device = 0;
  unsigned flags = 0;
  bool legacy = false;
  bool counted = true;  // among the streams that the program must destroy
  bool busy = false;    // ready, running or parked
  int worker = -1;      // that ran it last, and has its data in its caches
  int passed_over = 0;  // how often another was taken while it was the first of the ready ones
  lockstep::sim::Node* head = nullptr;
  lockstep::sim::Node* tail = nullptr;
  std::uint64_t submitted = 0;
  std::atomic<std::uint64_t> completed{0};
  std::vector<lockstep::sim::Waiter> waiters;

  bool blocking() const { return !legacy && (flags & cudaStreamNonBlocking) == 0; }
  bool pending() const { return completed.load(std::memory_order_relaxed) < submitted; }
};

struct CUevent_st {
  std::atomic<bool> alive{false};
  int device = 0;
  unsigned flags = 0;
  std::uint64_t records = 0;   // how often the slot was recorded, ever: so a late record of a destroyed event is recognised
  lockstep::sim::Moment last;  // stream is null: not recorded
  std::int64_t time_ns = 0;    // when the last record was reached
};
