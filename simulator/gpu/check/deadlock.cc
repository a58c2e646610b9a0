// Deadlocks: every stream with work waits, a host thread waits for one of them, and nothing has moved for a while.
//
// A stream waits for a moment of another stream, or at a gate for streams that have not come. Where those have the gate in their queues,
// behind something that waits itself, a cycle proves that nothing can ever move; then no grace time is needed. Otherwise a rank has not
// issued what the others wait for, and a host thread might still do it: the grace time is for that.
#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <thread>

#include "simulator/gpu/check/check_mode.h"
#include "simulator/gpu/runtime/executor.h"

namespace lockstep::sim {

namespace {

constexpr std::chrono::milliseconds kTick{20};
constexpr std::chrono::milliseconds kCertain{200};  // a cycle that lasts

using Streams = std::vector<Stream*>;

struct StuckStream {
  Stream* stream = nullptr;
  Streams for_streams;  // that have the other side in their queue
  int missing = 0;      // arrivals at the gate that are in no queue
};

struct Stuck {
  std::vector<StuckStream> waits;
  Streams cycle;  // each waits for the next, the last one for the first

  const StuckStream* of(const Stream* stream) const {
    const auto found = std::find_if(waits.begin(), waits.end(), [&](const StuckStream& wait) { return wait.stream == stream; });
    return found != waits.end() ? &*found : nullptr;
  }
};

bool holds(const Streams& streams, const Stream* stream) { return std::find(streams.begin(), streams.end(), stream) != streams.end(); }

// Follows `next` from each stream until one comes again.
template <typename Next>
Streams find_cycle(const Streams& streams, const Next& next) {
  std::set<Stream*> finished;
  Streams path;
  const auto visit = [&](const auto& self, Stream* stream) -> bool {
    if (const auto again = std::find(path.begin(), path.end(), stream); again != path.end()) {
      path.erase(path.begin(), again);
      return true;
    }
    if (finished.count(stream) != 0) return false;
    path.push_back(stream);
    for (Stream* other : next(stream)) {
      if (self(self, other)) return true;
    }
    path.pop_back();
    finished.insert(stream);
    return false;
  };
  for (Stream* stream : streams) {
    if (visit(visit, stream)) return path;
  }
  return {};
}

// What the stream's first node waits for; nothing where it runs, is about to run, or waits for something outside the virtual GPU.
std::optional<StuckStream> wait_of(Stream* stream, const Streams& all) {
  const Node& head = *stream->head;
  StuckStream wait{stream, {}, 0};
  const auto blocked = std::find_if(head.after.begin(), head.after.end(), [](const Moment& moment) { return !Executor::passed(moment); });
  if (blocked != head.after.end()) {
    wait.for_streams.push_back(blocked->stream);
    return wait;
  }
  if (head.kind != NodeKind::gate || head.gate->expected >= kOpenedFromOutside || head.gate->open) return std::nullopt;
  const Gate& gate = *head.gate;
  if (!holds(gate.arrived, stream)) return std::nullopt;
  for (Stream* other : all) {
    if (holds(gate.arrived, other)) continue;
    for (const Node* node = other->head; node != nullptr; node = node->next) {
      if (node->kind != NodeKind::gate || node->gate.get() != &gate) continue;
      wait.for_streams.push_back(other);
      break;
    }
  }
  wait.missing = gate.expected - static_cast<int>(gate.arrived.size() + wait.for_streams.size());
  return wait;
}

// Empty: something can move.
Stuck find_stuck(const Streams& all) {
  Stuck stuck;
  for (Stream* stream : all) {
    if (stream->head == nullptr) continue;
    auto wait = wait_of(stream, all);
    if (!wait) return {};
    stuck.waits.push_back(std::move(*wait));
  }
  Streams waiting;
  for (const StuckStream& wait : stuck.waits) waiting.push_back(wait.stream);
  stuck.cycle = find_cycle(waiting, [&](const Stream* stream) {
    const StuckStream* const wait = stuck.of(stream);
    return wait != nullptr ? wait->for_streams : Streams{};
  });
  return stuck;
}

std::string describe(const Stuck& stuck, CheckMode& check) {
  const std::size_t n = stuck.waits.size();
  std::string text = "deadlock: " + (n == 1 ? "a stream waits" : std::to_string(n) + " streams wait") + ", and nothing can move.";
  for (const StuckStream& wait : stuck.waits) {
    const Node& head = *wait.stream->head;
    const bool gate = head.kind == NodeKind::gate && head.after.empty();
    text += "\n  " + check.name_of_stream(wait.stream) + " waits " + (gate ? "at '" : "to begin '") + head.check->issue->name +
            "', issued by " + describe(head.check->issue->site);
    for (const Stream* other : wait.for_streams) {
      const StuckStream* const its = stuck.of(other);
      text += ";\n    for " + check.name_of_stream(other);
      if (gate && its != nullptr) text += ", which must come here too but is at '" + its->stream->head->check->issue->name + "'";
    }
    if (gate) {
      text += ";\n    " + std::to_string(head.gate->arrived.size()) + " of " + std::to_string(head.gate->expected) + " have come";
      if (wait.missing > 0) text += ", and it has not been issued for the other " + std::to_string(wait.missing);
    }
  }
  if (!stuck.cycle.empty()) {
    text += "\n  The cycle: ";
    for (const Stream* stream : stuck.cycle) text += check.name_of_stream(stream) + " -> ";
    text += check.name_of_stream(stuck.cycle.front());
    return text +
           ".\n  Fix: issue collectives in the same order on all ranks' streams, or those that belong together between "
           "ncclGroupStart and ncclGroupEnd; use one stream for each communicator.";
  }
  return text +
         "\n  Fix: every rank must issue the collective (a rank that has nothing to add too), before any host thread waits "
         "for it.";
}

// The gates at which the stuck streams wait: once they are open, the host gets its answer.
std::vector<std::shared_ptr<Gate>> gates_of(const Stuck& stuck) {
  std::vector<std::shared_ptr<Gate>> gates;
  for (const StuckStream& wait : stuck.waits) {
    const Node& head = *wait.stream->head;
    if (head.kind == NodeKind::gate && !head.gate->open) gates.push_back(head.gate);
  }
  return gates;
}

}  // namespace

// Devices with a stuck stream fail, so that what is queued behind is skipped.
void CheckMode::watch_for_deadlock(Executor& executor) {
  using Time = std::chrono::steady_clock;
  std::uint64_t activity = 0;
  Time::time_point since = Time::now();
  while (!executor.stopping()) {
    std::this_thread::sleep_for(kTick);
    executor.inspect([&](const Streams& streams, bool host_waits) -> std::vector<std::shared_ptr<Gate>> {
      const Stuck stuck = host_waits ? find_stuck(streams) : Stuck{};
      const std::uint64_t now = activity_.load(std::memory_order_relaxed);
      if (stuck.waits.empty() || now != activity) {
        activity = now;
        since = Time::now();
        return {};
      }
      if (Time::now() - since < (stuck.cycle.empty() ? grace_ : std::min(kCertain, grace_))) return {};
      const std::string text = describe(stuck, *this);
      for (const StuckStream& wait : stuck.waits) executor.fail(wait.stream->device, cudaErrorLaunchTimeout, text);
      return gates_of(stuck);
    });
  }
}

}  // namespace lockstep::sim
