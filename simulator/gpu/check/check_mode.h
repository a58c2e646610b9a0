// Check mode of the virtual GPU: LOCKSTEP_SIM_CHECK=memory,race,deadlock.
//
// - memory: device addresses are out of reach of host code and freed ones are not handed out again soon; every operation's memory must be
//   live, reachable and, where it is read, written before; kernels run on copies of their views between pages that nobody may touch.
// - race: two operations that touch the same bytes, one of them writing, must be ordered (order.h).
// - deadlock: streams that all wait for each other are found, named and released with an error (deadlock.cc).
//
// What is found becomes the device's sticky error, a message on stderr and a report. When check mode is off there is no Checker, and each
// hook is a comparison with null.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "simulator/gpu/check/call_site.h"
#include "simulator/gpu/check/guarded_memory.h"
#include "simulator/gpu/check/order.h"
#include "simulator/gpu/check/shadow.h"
#include "simulator/gpu/runtime/config.h"
#include "simulator/gpu/runtime/queue.h"

namespace lockstep::sim {

// Rides on a node.
struct NodeCheck {
  std::shared_ptr<const Issue> issue;
  std::shared_ptr<const Clock> host;  // what the host knew when the node was issued

  struct Guarded {
    GuardedMemory memory;
    std::byte* original = nullptr;
    struct Part {
      int argument = 0;
      std::size_t offset = 0, bytes = 0, element = 1;
      bool write = false;
    };
    std::vector<Part> parts;  // views that overlap share the copy
  };
  std::vector<Guarded> guards;
};

class Checker {
 public:
  Checker(Checks checks, std::chrono::milliseconds grace) : checks_(checks), grace_(grace) {}
  const Checks& checks() const { return checks_; }
  std::chrono::milliseconds grace() const { return grace_; }

  // Memory. The device is kHostDevice for page-locked memory.
  void allocated(int device, std::uintptr_t begin, std::size_t bytes);
  void released(std::uintptr_t begin, const CallSite& site);
  // Why this block may not be freed yet, though the host has waited for its device; empty: it may.
  std::string still_in_use(std::uintptr_t begin, const CallSite& site);
  // A copy from or to memory that is not there was refused: says why.
  void refused(const void* address, std::size_t bytes, bool read);
  // "byte 12 of 400 bytes that cudaMalloc in main allocated on device 0", "... and cudaFree in main has freed", "no allocation".
  std::string whereabouts(const void* address) const;

  // Queues; the executor's lock is held.
  void created(const Stream* stream);
  void destroyed(const Stream* stream);
  void issued(Node& node);
  void started(Node& node);
  void reached_gate(Node& node);
  void left_gate(Node& node);
  std::vector<Moment> retired(int device, bool blocking_only);
  std::string name_of_stream(const Stream* stream);
  std::uint64_t activity() const { return activity_.load(std::memory_order_relaxed); }  // grows when anything is issued or starts

  // The host knows that all up to this moment is done.
  void host_saw(const Moment& moment);

  // Around an operation, on the worker that runs it; both throw a Fault.
  void before_run(Node& node, const std::vector<Touch>& touches);
  void guard_views(Node& node);  // after addresses were resolved
  void after_run(Node& node);

  void report(const std::string& text);
  std::vector<std::string> reports() const;
  void clear_reports();

 private:
  struct Allocation {
    std::size_t bytes = 0;
    int device = 0;
    CallSite allocated, freed;
  };
  using Allocations = std::map<std::uintptr_t, Allocation>;  // by begin
  static const Allocations::value_type* holder(const Allocations& allocations, std::uintptr_t address);
  std::string place(std::uintptr_t begin, std::uintptr_t end) const;
  void check_live(const Touch& touch) const;
  void check_written(const Node& node, const Touch& touch) const;
  void check_order(Node& node, const Touch& touch);
  std::string race_text(Node& node, const Touch& touch, const Conflict& conflict);

  const Checks checks_;
  const std::chrono::milliseconds grace_;
  mutable std::mutex mutex_;
  Order order_;
  Shadow shadow_;
  Allocations live_, freed_;
  std::vector<std::string> reports_;
  std::atomic<std::uint64_t> activity_{0};
};

}  // namespace lockstep::sim
