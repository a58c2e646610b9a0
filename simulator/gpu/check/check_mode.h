// Check mode of the virtual GPU: LOCKSTEP_SIM_CHECK=memory,race,deadlock.
//
// - memory: host code cannot dereference device addresses, and freed addresses are not reused soon. The memory of every operation must be
//   live, reachable and, where it is read, written before. Kernels run on copies of their views between inaccessible pages.
// - race: two operations that use the same bytes, one of them writing, must be ordered (order.h).
// - deadlock: streams that all wait for each other are found, named and released with an error (deadlock.cc).
//
// A finding becomes the device's sticky error, a message on stderr and a report.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "simulator/gpu/check/call_site.h"
#include "simulator/gpu/check/guarded_memory.h"
#include "simulator/gpu/check/order.h"
#include "simulator/gpu/check/reports.h"
#include "simulator/gpu/check/shadow.h"
#include "simulator/gpu/runtime/checker.h"

namespace lockstep::sim {

// What check mode keeps with a node.
struct NodeCheck {
  std::shared_ptr<const Issue> issue;
  std::shared_ptr<const VectorClock> host;  // what the host knew when the node was issued

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

class CheckMode : public Checker {
 public:
  CheckMode(Checks checks, std::chrono::milliseconds grace);

  void report(const std::string& text) override;
  void refused_call(const std::string& library, const std::string& why) override;
  std::shared_ptr<const CallSite> caller() const override { return std::make_shared<const CallSite>(call_site()); }
  void allocated(int device, std::uintptr_t begin, std::size_t bytes) override;
  void released(std::uintptr_t begin, const CallSite* site) override;
  std::string still_in_use(std::uintptr_t begin) override;
  void refused_copy(const void* address, std::size_t bytes, bool read) override;

  void created(const Stream* stream) override;
  void destroyed(const Stream* stream) override;
  void issued(Node& node) override;
  void started(Node& node) override;
  void reached_gate(Node& node) override;
  void left_gate(Node& node) override;
  std::vector<Moment> retired(int device, bool blocking_only) override;
  void host_saw(const Moment& moment) override;

  void before_run(Node& node, const std::vector<Touch>& touches) override;
  void guard_views(Node& node) override;
  void after_run(Node& node) override;
  std::vector<Touch> unwritten(std::uintptr_t begin, std::size_t bytes) const override;
  void touched(Node& node, const std::vector<Touch>& touches) override;
  void watch_for_deadlock(Executor& executor) override;

  // "byte 12 of 400 bytes that cudaMalloc in main allocated on device 0", "... and cudaFree in main has freed", "no allocation".
  std::string whereabouts(const void* address) const;
  std::string name_of_stream(const Stream* stream);
  void name_stream(const Stream* stream, const std::string& name);
  void name_memory(const void* address, const std::string& name);
  void set_place_of_call(PlaceOfCall place);
  std::vector<std::string> reports() const;
  void clear_reports();

 private:
  struct Allocation {
    std::size_t bytes = 0;
    int device = 0;
    CallSite allocated, freed;
    std::string name;
  };
  using Allocations = std::map<std::uintptr_t, Allocation>;  // by begin
  static const Allocations::value_type* holder(const Allocations& allocations, std::uintptr_t address);
  std::string place(std::uintptr_t begin, std::uintptr_t end) const;
  void check_live(const Touch& touch) const;
  void check_written(const Node& node, const Touch& touch) const;
  void check_order(Node& node, const Touch& touch);
  void check_order(Node& node, const std::vector<Touch>& touches);  // reads, then writes
  std::string race_text(const Access& access, bool writes, const Conflict& conflict) const;
  std::string race_fix(const Access& first, const Access& second) const;
  std::string place_of(const Issue& issue) const;

  const std::chrono::milliseconds grace_;
  mutable std::mutex mutex_;
  Order order_;
  Shadow shadow_;
  Allocations live_, freed_;
  std::vector<std::string> reports_;
  std::uint64_t issued_ = 0;
  PlaceOfCall place_of_call_ = nullptr;
  std::atomic<std::uint64_t> activity_{0};  // grows when anything is issued or starts
};

CheckMode* check_mode();  // of this process; null when it is off

}  // namespace lockstep::sim
