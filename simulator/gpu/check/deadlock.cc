// Deadlocks: every stream with work waits, some host thread waits for one of them, and nothing has moved for a while.
//
// A stream waits for a moment of another stream, or at a gate for those that have not come. Where the missing ones are queued already,
// behind something that waits itself, a cycle proves that nothing can ever move; then the grace time is not needed. Otherwise somebody
// has not issued what others wait for, and a host thread might still do it: that is given the grace time.
#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

#include "simulator/gpu/check/checker.h"
#include "simulator/gpu/runtime/executor.h"

namespace lockstep::sim {

struct Executor::Stuck {
  struct Wait {
    Stream* stream = nullptr;
    std::vector<Stream*> for_whom;  // that have the other side in their queue
    int missing = 0;                // arrivals at the gate that are in nobody's queue
  };
  std::vector<Wait> waits;
  std::vector<Stream*> cycle;  // each waits for the next, the last one for the first

  const Wait* of(const Stream* stream) const {
    const auto found = std::find_if(waits.begin(), waits.end(), [&](const Wait& wait) { return wait.stream == stream; });
    return found != waits.end() ? &*found : nullptr;
  }
};

namespace {

constexpr std::chrono::milliseconds kTick{20};
constexpr std::chrono::milliseconds kCertain{200};  // a cycle that lasts
constexpr int kFromOutside = 1 << 30;               // a gate for so many is opened by somebody else: the network, a planned stall

bool holds(const std::vector<Stream*>& streams, const Stream* stream) {
  return std::find(streams.begin(), streams.end(), stream) != streams.end();
}

// Follows `next` from each stream until one comes again.
template <typename Next>
std::vector<Stream*> find_cycle(const std::vector<Stream*>& streams, const Next& next) {
  std::set<Stream*> finished;
  std::vector<Stream*> path;
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

}  // namespace

// Empty waits: something can move, or nobody waits for it. The lock is held.
Executor::Stuck Executor::find_stuck() {
  Stuck stuck;
  std::vector<Stream*> all;
  for (const Device& device : devices_) {
    all.push_back(device.legacy);
    all.insert(all.end(), device.streams.begin(), device.streams.end());
  }
  bool moves = host_waiters_.load(std::memory_order_relaxed) == 0;
  for (Stream* stream : all) {
    const Node* const head = stream->head;
    if (head == nullptr || moves) continue;
    Stuck::Wait wait{stream, {}, 0};
    const auto blocked = std::find_if(head->after.begin(), head->after.end(), [](const Moment& moment) { return !passed(moment); });
    if (blocked != head->after.end()) {
      wait.for_whom.push_back(blocked->stream);
    } else if (head->kind == NodeKind::gate && head->gate->expected < kFromOutside && !head->gate->open &&
               holds(head->gate->arrived, stream)) {
      const Gate& gate = *head->gate;
      for (Stream* other : all) {
        if (holds(gate.arrived, other)) continue;
        for (const Node* node = other->head; node != nullptr; node = node->next) {
          if (node->kind != NodeKind::gate || node->gate.get() != &gate) continue;
          wait.for_whom.push_back(other);
          break;
        }
      }
      wait.missing = gate.expected - static_cast<int>(gate.arrived.size() + wait.for_whom.size());
    } else {
      moves = true;  // it runs, or is about to, or somebody outside decides
    }
    stuck.waits.push_back(std::move(wait));
  }
  if (moves) {
    stuck.waits.clear();
    return stuck;
  }
  std::vector<Stream*> waiting;
  for (const Stuck::Wait& wait : stuck.waits) waiting.push_back(wait.stream);
  stuck.cycle = find_cycle(waiting, [&](const Stream* stream) {
    const Stuck::Wait* const wait = stuck.of(stream);
    return wait != nullptr ? wait->for_whom : std::vector<Stream*>{};
  });
  return stuck;
}

std::string Executor::describe_stuck(const Stuck& stuck) {
  const std::size_t n = stuck.waits.size();
  std::string text = "deadlock: " + (n == 1 ? "a stream waits" : std::to_string(n) + " streams wait") + ", and nothing can move.";
  for (const Stuck::Wait& wait : stuck.waits) {
    const Node& head = *wait.stream->head;
    const bool gate = head.kind == NodeKind::gate && wait.stream->head->after.empty();
    text += "\n  " + check_->name_of_stream(wait.stream) + " waits " + (gate ? "at '" : "to begin '") + head.check->issue->name +
            "', issued by " + describe(head.check->issue->site);
    for (const Stream* other : wait.for_whom) {
      const Stuck::Wait* const its = stuck.of(other);
      text += ";\n    for " + check_->name_of_stream(other);
      if (gate && its != nullptr) text += ", which is to come here too but stands at '" + its->stream->head->check->issue->name + "'";
    }
    if (gate) {
      text += ";\n    " + std::to_string(head.gate->arrived.size()) + " of " + std::to_string(head.gate->expected) + " have come";
      if (wait.missing > 0) text += ", and " + std::to_string(wait.missing) + " will not: nobody has issued it for them";
    }
  }
  if (!stuck.cycle.empty()) {
    text += "\n  The cycle: ";
    for (const Stream* stream : stuck.cycle) text += check_->name_of_stream(stream) + " -> ";
    text += check_->name_of_stream(stuck.cycle.front());
    return text +
           ".\n  To mend it: issue collectives in the same order on all ranks' streams, or those that belong together between "
           "ncclGroupStart and ncclGroupEnd; use one stream for each communicator.";
  }
  return text +
         "\n  To mend it: every rank must issue the collective (a rank that has nothing to add too), before any host thread waits "
         "for it.";
}

// The devices fail, so what is queued behind is skipped; the gates open, so the host gets its answer.
void Executor::release_stuck(const Stuck& stuck) {
  for (const Stuck::Wait& wait : stuck.waits) {
    Node* const head = wait.stream->head;
    if (head == nullptr || head->kind != NodeKind::gate || head->gate->open) continue;
    head->gate->open = true;
    for (Stream* stream : std::exchange(head->gate->arrived, {})) make_ready(stream);
  }
}

void Executor::watch_for_deadlock() {
  using Time = std::chrono::steady_clock;
  std::uint64_t activity = 0;
  Time::time_point since = Time::now();
  while (!stopping_.load(std::memory_order_relaxed)) {
    std::this_thread::sleep_for(kTick);
    int awake = 0;
    {
      const Lock lock(mutex_);
      const Stuck stuck = find_stuck();
      if (stuck.waits.empty() || check_->activity() != activity) {
        activity = check_->activity();
        since = Time::now();
        continue;
      }
      if (Time::now() - since < (stuck.cycle.empty() ? check_->grace() : std::min(kCertain, check_->grace()))) continue;
      const std::string text = describe_stuck(stuck);
      for (const Stuck::Wait& wait : stuck.waits) fail(wait.stream->device, cudaErrorLaunchTimeout, text);
      release_stuck(stuck);
      awake = workers_to_wake();
    }
    wake(awake);
  }
}

}  // namespace lockstep::sim
