#include "simulator/gpu/check/check_mode.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <utility>

#include <backend/launch.h>
#include "simulator/gpu/check/reports.h"
#include "simulator/gpu/check/segfault.h"
#include "simulator/gpu/runtime/execute.h"
#include "simulator/gpu/runtime/memory.h"
#include "simulator/gpu/runtime/runtime.h"

namespace lockstep::sim {

namespace {

std::string quoted(const std::string& name) { return "'" + name + "'"; }

std::string how_many(std::size_t bytes) { return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes"); }

std::string where(int device) { return device == kHostDevice ? "as page-locked host memory" : "on device " + std::to_string(device); }

std::uintptr_t number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

}  // namespace

std::unique_ptr<Checker> make_checker(Checks checks, std::chrono::milliseconds grace) { return std::make_unique<CheckMode>(checks, grace); }

CheckMode* check_mode() { return static_cast<CheckMode*>(runtime().checker.get()); }  // make_checker has made it

CheckMode::CheckMode(Checks checks, std::chrono::milliseconds grace) : Checker(checks), grace_(grace) {
  if (checks.memory) watch_for_segfaults();
}

const CheckMode::Allocations::value_type* CheckMode::holder(const Allocations& allocations, std::uintptr_t address) {
  auto found = allocations.upper_bound(address);
  if (found == allocations.begin()) return nullptr;
  --found;
  return address - found->first < found->second.bytes ? &*found : nullptr;
}

void CheckMode::allocated(int device, std::uintptr_t begin, std::size_t bytes) {
  const CallSite site = call_site();
  const std::lock_guard lock(mutex_);
  auto old = freed_.upper_bound(begin);
  if (old != freed_.begin() && std::prev(old)->first + std::prev(old)->second.bytes > begin) --old;
  while (old != freed_.end() && old->first < begin + bytes) old = freed_.erase(old);
  live_[begin] = {bytes, device, site, {}, {}};
  shadow_.add(begin, bytes, device == kHostDevice);  // the host may have written all of its own
}

void CheckMode::released(std::uintptr_t begin, const CallSite* site) {
  const CallSite freed = site != nullptr ? *site : call_site();
  const std::lock_guard lock(mutex_);
  const auto found = live_.find(begin);
  if (found == live_.end()) return;
  shadow_.remove(begin, found->second.bytes);
  Allocation gone = found->second;
  gone.freed = freed;
  live_.erase(found);
  if (gone.device != kHostDevice) freed_[begin] = std::move(gone);
}

std::string CheckMode::still_in_use(std::uintptr_t begin) {
  if (!checks().race) return "";
  const CallSite site = call_site();
  const std::lock_guard lock(mutex_);
  const auto found = live_.find(begin);
  if (found == live_.end()) return "";
  const auto conflict = shadow_.look(begin, found->second.bytes, [&](const Access& access) { return order_.before_host(access); });
  if (!conflict) return "";
  const Issue& other = *conflict->earlier.issue;
  return "freed too early: " + describe(site) + " frees " + place(conflict->begin, conflict->end) + ", while " + quoted(other.name) +
         " on " + other.stream + (conflict->earlier_wrote ? " writes" : " reads") + " it and the host has not waited for that.\n  " +
         quoted(other.name) + " was issued by " + describe(other.site) +
         ".\n  Fix: wait for that stream (cudaStreamSynchronize, or cudaDeviceSynchronize on its device) before freeing.";
}

// Words for bytes [begin, end) of one allocation.
std::string CheckMode::place(std::uintptr_t begin, std::uintptr_t end) const {
  const auto* const block = holder(live_, begin);
  if (block == nullptr) return how_many(end - begin);
  const std::uintptr_t first = begin - block->first;
  const std::string& name = block->second.name;
  const std::string whole = !name.empty() ? name
                                          : "the " + how_many(block->second.bytes) + " that " + describe(block->second.allocated) +
                                                " allocated " + where(block->second.device);
  if (first == 0 && end - begin == block->second.bytes) return whole;
  return "bytes " + std::to_string(first) + " to " + std::to_string(first + (end - begin) - 1) + " of " + whole;
}

std::string CheckMode::whereabouts(const void* address) const {
  const std::lock_guard lock(mutex_);
  const auto at = number(address);
  const auto tell = [&](const Allocations::value_type& block) {
    return "byte " + std::to_string(at - block.first) + " of the " + how_many(block.second.bytes) + " that " +
           describe(block.second.allocated) + " allocated " + where(block.second.device);
  };
  if (const auto* const block = holder(live_, at)) return tell(*block);
  if (const auto* const block = holder(freed_, at)) return tell(*block) + " and " + describe(block->second.freed) + " has freed";
  auto before = live_.upper_bound(at);
  if (before != live_.begin()) {
    --before;
    const std::uintptr_t past = at - before->first - before->second.bytes;
    if (past < kAlignment) {
      return how_many(past + 1) + " past the end of the " + how_many(before->second.bytes) + " that " + describe(before->second.allocated) +
             " allocated " + where(before->second.device);
    }
  }
  return "no allocation holds this address";
}

void CheckMode::refused_copy(const void* address, std::size_t bytes, bool read) {
  const std::string text = std::string("a copy was refused: ") + describe(call_site()) + (read ? " reads " : " writes ") + how_many(bytes) +
                           " from there on: " + whereabouts(address) +
                           ".\n  Fix: copy only within a live allocation, and free memory after its last use.";
  std::fprintf(stderr, "virtual GPU: %s\n", text.c_str());
  report(text);
}

void CheckMode::refused_call(const std::string& library, const std::string& why) {
  const std::string text = why + ".\n  The call that was refused: " + describe(call_site()) + ".";
  std::fprintf(stderr, "%s: %s\n", library.c_str(), text.c_str());
  report(text);
}

void CheckMode::created(const Stream* stream) {
  const std::lock_guard lock(mutex_);
  order_.created(stream);
}

void CheckMode::destroyed(const Stream* stream) {
  const std::lock_guard lock(mutex_);
  order_.destroyed(stream);
}

std::vector<Moment> CheckMode::retired(int device, bool blocking_only) {
  const std::lock_guard lock(mutex_);
  return order_.retired(device, blocking_only);
}

std::string CheckMode::name_of_stream(const Stream* stream) {
  const std::lock_guard lock(mutex_);
  return order_.name(stream);
}

void CheckMode::name_stream(const Stream* stream, const std::string& name) {
  const std::lock_guard lock(mutex_);
  order_.rename(stream, name);
}

void CheckMode::name_memory(const void* address, const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto found = live_.find(number(address));
  if (found != live_.end()) found->second.name = name;
}

void CheckMode::set_place_of_call(PlaceOfCall place_of_call) {
  const std::lock_guard lock(mutex_);
  place_of_call_ = place_of_call;
}

void CheckMode::issued(Node& node) {
  ++activity_;
  auto issue = std::make_shared<Issue>();
  issue->site = call_site();
  switch (node.kind) {
    case NodeKind::operation:
    case NodeKind::kernel:
      issue->name = name_of(node);
      break;
    case NodeKind::record:
      issue->name = "record of an event";
      break;
    case NodeKind::wait:
      issue->name = "wait for an event";
      break;
    case NodeKind::gate:
      issue->name = node.gate->name;
      break;
  }
  const std::lock_guard lock(mutex_);
  issue->stream = order_.name(node.stream);
  issue->number = ++issued_;
  order_.issued(node.stream, node.sequence, node.after, issue->number);
  auto check = std::make_shared<NodeCheck>();
  check->issue = std::move(issue);
  check->host = order_.host();
  node.check = std::move(check);
}

void CheckMode::started(Node& node) {
  ++activity_;
  const std::lock_guard lock(mutex_);
  order_.started(node.stream, node.sequence, node.after, node.check->host);
}

void CheckMode::reached_gate(Node& node) {
  const std::lock_guard lock(mutex_);
  if (node.gate->clock == nullptr) node.gate->clock = std::make_shared<VectorClock>();
  order_.reached_gate(node.stream, node.sequence, *node.gate->clock);
}

void CheckMode::left_gate(Node& node) {
  const std::lock_guard lock(mutex_);
  if (node.gate->clock != nullptr) order_.left_gate(node.stream, node.sequence, *node.gate->clock);
}

void CheckMode::host_saw(const Moment& moment) {
  const std::lock_guard lock(mutex_);
  order_.host_saw(moment);
}

void CheckMode::check_live(const Touch& touch) const {
  const std::uintptr_t at = number(touch.begin);
  if (holder(live_, at) != nullptr || runtime().memory.device_of(touch.begin) == kHostDevice) return;
  const auto* const block = holder(freed_, at);
  if (block == nullptr) return;
  throw Fault{cudaErrorIllegalAddress,
              std::string(touch.write ? "writes" : "reads") + " freed memory: " + how_many(touch.bytes) + " in the " +
                  how_many(block->second.bytes) + " that " + describe(block->second.allocated) + " allocated " +
                  where(block->second.device) + ".\n  They were freed by " + describe(block->second.freed) +
                  ".\n  Fix: free only after the last operation that uses the memory has been issued and waited for, or use "
                  "cudaFreeAsync behind it on its stream."};
}

void CheckMode::check_written(const Node& node, const Touch& touch) const {
  const std::uintptr_t begin = number(touch.begin);
  const auto hole = shadow_.unwritten(begin, touch.bytes);
  if (!hole) return;
  throw Fault{cudaErrorIllegalState, "uninitialised read: it reads " + place(begin, begin + touch.bytes) + ", and nothing has written " +
                                         how_many(hole->second - hole->first) + " of them, from byte " +
                                         std::to_string(hole->first - begin) + " of what it reads on.\n  " +
                                         quoted(node.check->issue->name) + " on " + node.check->issue->stream + " was issued by " +
                                         describe(node.check->issue->site) +
                                         ".\n  Fix: write the memory first (cudaMemset, cudaMemcpy, or a kernel that has it as a "
                                         "View<T>), or pass a smaller view."};
}

void CheckMode::check_order(Node& node, const Touch& touch) {
  const Access access{order_.index(node.stream), node.sequence, node.check->issue};
  const auto before = [&](const Access& earlier) {
    return order_.before(earlier, node.stream) && !(earlier.stream == access.stream && earlier.sequence > access.sequence);
  };
  const std::uintptr_t begin = number(touch.begin);
  const auto conflict = touch.write ? shadow_.write(begin, touch.bytes, access, before) : shadow_.read(begin, touch.bytes, access, before);
  if (conflict) throw Fault{cudaErrorIllegalState, race_text(access, touch.write, *conflict), true};
}

void CheckMode::before_run(Node& node, const std::vector<Touch>& touches) {
  const std::lock_guard lock(mutex_);
  const OperationKind kind = node.kind == NodeKind::kernel ? OperationKind::kernel : node.what().kind;
  if (kind == OperationKind::host_function) {
    // It may notify a host thread, which then knows that everything before it on its stream is done.
    order_.host_saw({node.stream, node.sequence - 1});
    return;
  }
  if (checks().memory) {
    for (const Touch& touch : touches) {
      if (touch.bytes > 0) check_live(touch);
    }
  }
  if (checks().race) check_order(node, touches);
  if (!checks().memory) return;
  const auto on_device = [&](const Touch& touch) {
    const auto* const block = holder(live_, number(touch.begin));
    return block != nullptr && block->second.device != kHostDevice;
  };
  // A copy from device to device does not look at the bytes: they stay what they were.
  if (kind == OperationKind::copy && touches.size() == 2 && on_device(touches[0]) && on_device(touches[1])) {
    shadow_.copy_written(number(touches[0].begin), number(touches[1].begin), touches[0].bytes);
    return;
  }
  for (const Touch& touch : touches) {
    if (touch.bytes > 0 && !touch.write) check_written(node, touch);
  }
  for (const Touch& touch : touches) {
    if (touch.bytes > 0 && touch.write) shadow_.set_written(number(touch.begin), touch.bytes);
  }
}

void CheckMode::guard_views(Node& node) {
  if (!checks().memory || node.kind != NodeKind::kernel) return;
  struct Seen {
    std::byte* begin;
    NodeCheck::Guarded::Part part;
  };
  std::vector<Seen> views;
  const Signature& signature = *node.kernel.signature;
  std::byte* const packed = node.kernel.packed();
  for (int i = 0; i < signature.count; ++i) {
    const Argument& argument = signature.arguments[i];
    if (argument.kind == ArgumentKind::value) continue;
    AnyView view;
    std::memcpy(static_cast<void*>(&view), packed + argument.offset, sizeof(view));
    if (view.count <= 0) continue;
    const std::size_t bytes = static_cast<std::size_t>(view.count) * argument.element;
    views.push_back({view.data, {i, 0, bytes, argument.element, argument.kind == ArgumentKind::write}});
  }
  std::sort(views.begin(), views.end(), [](const Seen& a, const Seen& b) { return a.begin < b.begin; });
  for (std::size_t first = 0; first < views.size();) {
    std::byte* const begin = views[first].begin;
    std::byte* end = begin + views[first].part.bytes;
    std::size_t last = first + 1;
    for (; last < views.size() && views[last].begin < end; ++last) end = std::max(end, views[last].begin + views[last].part.bytes);
    NodeCheck::Guarded guarded{GuardedMemory(static_cast<std::size_t>(end - begin)), begin, {}};
    std::memcpy(guarded.memory.data(), begin, guarded.memory.bytes());
    for (; first < last; ++first) {
      NodeCheck::Guarded::Part part = views[first].part;
      part.offset = static_cast<std::size_t>(views[first].begin - begin);
      const Argument& argument = signature.arguments[part.argument];
      AnyView view;
      std::memcpy(static_cast<void*>(&view), packed + argument.offset, sizeof(view));
      view.data = guarded.memory.data() + part.offset;
      std::memcpy(packed + argument.offset, &view, sizeof(view));
      guarded.parts.push_back(part);
    }
    node.check->guards.push_back(std::move(guarded));
  }
}

void CheckMode::after_run(Node& node) {
  const std::vector<NodeCheck::Guarded> guards = std::move(node.check->guards);
  node.check->guards.clear();
  for (const NodeCheck::Guarded& guarded : guards) {
    GuardedMemory::Trespass found;
    if (guarded.memory.trespassed(found)) {
      const auto& part = guarded.parts.front();
      const bool front = found.offset < 0;
      const auto element = static_cast<std::int64_t>(part.element);
      const std::int64_t index = front ? -((-found.offset + element - 1) / element) : found.offset / element;
      throw Fault{cudaErrorIllegalAddress,
                  "out of bounds: it " + std::string(found.write ? "writes" : "reads") + " element " + std::to_string(index) +
                      " of the view in parameter " + std::to_string(part.argument + 1) + ", which has " +
                      std::to_string(part.bytes / part.element) + " elements of " + how_many(part.element) + ".\n  " +
                      quoted(node.check->issue->name) + " on " + node.check->issue->stream + " was issued by " +
                      describe(node.check->issue->site) +
                      ".\n  Fix: keep the kernel's indices within the view's count, or pass the view that the kernel needs."};
    }
    for (const auto& part : guarded.parts) {
      if (part.write) std::memcpy(guarded.original + part.offset, guarded.memory.data() + part.offset, part.bytes);
    }
  }
}

void CheckMode::report(const std::string& text) {
  const std::lock_guard lock(mutex_);
  reports_.push_back(text);
}

std::vector<std::string> CheckMode::reports() const {
  const std::lock_guard lock(mutex_);
  return reports_;
}

void CheckMode::clear_reports() {
  const std::lock_guard lock(mutex_);
  reports_.clear();
}

std::vector<std::string> check_reports() {
  const CheckMode* const check = check_mode();
  return check != nullptr ? check->reports() : std::vector<std::string>{};
}

void clear_check_reports() {
  if (CheckMode* const check = check_mode()) check->clear_reports();
}

void name_stream(cudaStream_t stream, const std::string& name) {
  if (CheckMode* const check = check_mode()) check->name_stream(stream, name);
}

void name_memory(const void* address, const std::string& name) {
  if (CheckMode* const check = check_mode()) check->name_memory(address, name);
}

void set_place_of_call(PlaceOfCall place) {
  if (CheckMode* const check = check_mode()) check->set_place_of_call(place);
}

}  // namespace lockstep::sim
