// The interface of check mode: what the runtime reports to it while memory and streams are used, and what it asks.
//
// simulator/gpu/check implements it on top of the runtime, so the runtime includes nothing of that folder. When check mode is off there is
// no Checker, and each of these calls is a comparison with null.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "simulator/gpu/runtime/config.h"
#include "simulator/gpu/runtime/queue.h"

namespace lockstep::sim {

class Executor;
struct CallSite;  // which code made a call; simulator/gpu/check/call_site.h

class Checker {
 public:
  explicit Checker(Checks checks) : checks_(checks) {}
  virtual ~Checker() = default;
  Checker(const Checker&) = delete;
  Checker& operator=(const Checker&) = delete;

  const Checks& checks() const { return checks_; }
  virtual void report(const std::string& text) = 0;
  virtual void refused_call(const std::string& library, const std::string& why) = 0;
  virtual std::shared_ptr<const CallSite> caller() const = 0;  // the code that is in a CUDA call now

  // Memory. The device is kHostDevice for page-locked memory. Without a call site, the calling code is the one that frees.
  virtual void allocated(int device, std::uintptr_t begin, std::size_t bytes) = 0;
  virtual void released(std::uintptr_t begin, const CallSite* site) = 0;
  // Why this block may not be freed yet, though the host has waited for its device; empty: it may.
  virtual std::string still_in_use(std::uintptr_t begin) = 0;
  // A copy was refused, because the memory that it reads or writes does not exist: explains it.
  virtual void refused_copy(const void* address, std::size_t bytes, bool read) = 0;

  // Queues; the executor's lock is held.
  virtual void created(const Stream* stream) = 0;
  virtual void destroyed(const Stream* stream) = 0;
  virtual void issued(Node& node) = 0;
  virtual void started(Node& node) = 0;
  virtual void reached_gate(Node& node) = 0;
  virtual void left_gate(Node& node) = 0;
  // Moments of destroyed streams that work for the whole device still has to wait for.
  virtual std::vector<Moment> retired(int device, bool blocking_only) = 0;

  // The host knows that all up to this moment is done.
  virtual void host_saw(const Moment& moment) = 0;

  // Around an operation, on the worker that runs it; the first and the last may throw a Fault.
  virtual void before_run(Node& node, const std::vector<Touch>& touches) = 0;
  virtual void guard_views(Node& node) = 0;  // after addresses were resolved
  virtual void after_run(Node& node) = 0;
  // Device code that is not given views: parts of an allocation that were never written, and, when it has run, what it touched. The second
  // throws a Fault where another stream races with it.
  virtual std::vector<Touch> unwritten(std::uintptr_t begin, std::size_t bytes) const = 0;
  virtual void touched(Node& node, const std::vector<Touch>& touches) = 0;

  // On a thread of the executor, until the executor stops.
  virtual void watch_for_deadlock(Executor& executor) = 0;

 private:
  const Checks checks_;
};

// Defined in simulator/gpu/check.
std::unique_ptr<Checker> make_checker(Checks checks, std::chrono::milliseconds grace);

}  // namespace lockstep::sim
