#include "simulator/gpu/runtime/block_runner.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <backend/context.h>
#include "simulator/gpu/runtime/fiber.h"

namespace lockstep::sim {

namespace {

struct SourceLine {
  const char* file = nullptr;
  int line = 0;
  bool operator==(const SourceLine& other) const { return line == other.line && (file == other.file || std::string(file) == other.file); }
  std::string text() const { return std::string(file) + ":" + std::to_string(line); }
};

constexpr int kWarp = 32;

class BlockRunner final : public BlockThreads {
 public:
  void run(KernelCall& call, const Coordinates& block, std::uint64_t seed);

  void barrier(const char* file, int line) override { stop_at(State::at_barrier, {file, line}); }
  void warp_barrier(std::uint32_t mask, const char* file, int line) override { meet_warp(mask, 0, -1, {file, line}); }
  std::uint64_t shuffle(std::uint32_t mask, std::uint64_t value, int source, const char* file, int line) override {
    return meet_warp(mask, value, source, {file, line});
  }

 private:
  enum class State { ready, at_barrier, at_warp_barrier, finished };
  struct Thread {
    BlockRunner* runner = nullptr;
    std::unique_ptr<Fiber> fiber;
    int index = 0;
    State state = State::ready;
    SourceLine at;
    std::uint32_t mask = 0;
    std::uint64_t value = 0;
    int source = -1;  // lane whose value it gets
  };

  static void enter(void* thread);
  void run_ready(std::mt19937_64& random);
  void stop_at(State state, const SourceLine& at);
  std::uint64_t meet_warp(std::uint32_t mask, std::uint64_t value, int source, const SourceLine& at);
  bool release_warps();
  bool release_warp(int first);
  void release_block();
  [[noreturn]] void diverged() const;

  std::vector<Thread> threads_;  // kept between blocks, with their stacks
  std::vector<int> order_;
  int count_ = 0;
  Thread* current_ = nullptr;
  KernelCall* call_ = nullptr;
  std::exception_ptr problem_;
};

void BlockRunner::enter(void* argument) {
  auto& thread = *static_cast<Thread*>(argument);
  BlockRunner& self = *thread.runner;
  try {
    self.call_->signature->call(self.call_->kernel, self.call_->packed());
  } catch (...) {
    if (!self.problem_) self.problem_ = std::current_exception();
  }
  thread.state = State::finished;
}

void BlockRunner::run(KernelCall& call, const Coordinates& block, std::uint64_t seed) {
  call_ = &call;
  problem_ = nullptr;
  count_ = static_cast<int>(call.block.x * call.block.y * call.block.z);
  if (static_cast<int>(threads_.size()) < count_) threads_.resize(static_cast<std::size_t>(count_));
  set_block({call.grid.x, call.grid.y, call.grid.z}, {call.block.x, call.block.y, call.block.z}, block);
  kernel_context.threads = this;
  for (int t = 0; t < count_; ++t) {
    Thread& thread = threads_[static_cast<std::size_t>(t)];
    if (!thread.fiber) thread.fiber = std::make_unique<Fiber>();
    thread.runner = this;
    thread.index = t;
    thread.state = State::ready;
    thread.fiber->arm(&BlockRunner::enter, &thread);
  }
  order_.resize(static_cast<std::size_t>(count_));
  std::iota(order_.begin(), order_.end(), 0);
  std::mt19937_64 random(seed);
  const auto finished = [&] {
    return std::all_of(threads_.begin(), threads_.begin() + count_, [](const Thread& t) { return t.state == State::finished; });
  };
  for (;;) {
    run_ready(random);
    if (problem_) std::rethrow_exception(problem_);
    if (finished()) break;
    if (!release_warps()) release_block();
  }
  kernel_context.threads = nullptr;
}

void BlockRunner::run_ready(std::mt19937_64& random) {
  std::shuffle(order_.begin(), order_.end(), random);
  for (const int t : order_) {
    Thread& thread = threads_[static_cast<std::size_t>(t)];
    if (thread.state != State::ready) continue;
    const unsigned x = static_cast<unsigned>(t) % call_->block.x;
    const unsigned y = static_cast<unsigned>(t) / call_->block.x % call_->block.y;
    const unsigned z = static_cast<unsigned>(t) / call_->block.x / call_->block.y;
    set_thread({x, y, z});
    current_ = &thread;
    thread.fiber->resume();
  }
}

void BlockRunner::stop_at(State state, const SourceLine& at) {
  Thread& thread = *current_;
  thread.state = state;
  thread.at = at;
  thread.fiber->yield();
}

std::uint64_t BlockRunner::meet_warp(std::uint32_t mask, std::uint64_t value, int source, const SourceLine& at) {
  Thread& thread = *current_;
  thread.mask = mask;
  thread.value = value;
  thread.source = source;
  stop_at(State::at_warp_barrier, at);
  return thread.value;
}

bool BlockRunner::release_warps() {
  bool any = false;
  for (int first = 0; first < count_; first += kWarp) any = release_warp(first) || any;
  return any;
}

// Releases a group of lanes that all wait at the same line with the same mask, and that are all the mask names.
bool BlockRunner::release_warp(int first) {
  const int lanes = std::min(kWarp, count_ - first);
  const auto lane = [&](int l) -> Thread& { return threads_[static_cast<std::size_t>(first + l)]; };
  for (int l = 0; l < lanes; ++l) {
    const Thread& leader = lane(l);
    if (leader.state != State::at_warp_barrier) continue;
    const auto named = [&](int k) { return (leader.mask >> k & 1U) != 0; };
    bool complete = named(l);
    for (int k = 0; k < lanes && complete; ++k) {
      if (named(k)) {
        complete = lane(k).state == State::at_warp_barrier && lane(k).mask == leader.mask && lane(k).at == leader.at;
      }
    }
    if (!complete) continue;
    const std::uint32_t mask = leader.mask;
    std::uint64_t given[kWarp] = {};
    for (int k = 0; k < lanes; ++k) given[k] = lane(k).value;
    for (int k = 0; k < lanes; ++k) {
      if ((mask >> k & 1U) == 0) continue;
      Thread& thread = lane(k);
      thread.state = State::ready;
      const int from = thread.source;
      if (from >= 0 && from < lanes && (mask >> from & 1U) != 0) thread.value = given[from];
    }
    return true;
  }
  return false;
}

void BlockRunner::release_block() {
  const SourceLine at = threads_.front().at;
  for (int t = 0; t < count_; ++t) {
    const Thread& thread = threads_[static_cast<std::size_t>(t)];
    if (thread.state != State::at_barrier || !(thread.at == at)) diverged();
  }
  for (int t = 0; t < count_; ++t) threads_[static_cast<std::size_t>(t)].state = State::ready;
}

void BlockRunner::diverged() const {
  std::string what = "barrier divergence in block " + std::to_string(kernel_context.block) + ":";
  // One thread of each kind is named.
  std::vector<const Thread*> named;
  for (int t = 0; t < count_; ++t) {
    const Thread& thread = threads_[static_cast<std::size_t>(t)];
    const bool known = std::any_of(named.begin(), named.end(), [&](const Thread* other) {
      return other->state == thread.state && (thread.state == State::finished || other->at == thread.at);
    });
    if (known || named.size() == 4) continue;
    named.push_back(&thread);
    what += (named.size() > 1 ? "; thread " : " thread ") + std::to_string(t);
    if (thread.state == State::finished) {
      what += " has ended";
    } else {
      what += (thread.state == State::at_barrier ? " waits at " : " waits for its warp at ") + thread.at.text();
    }
  }
  throw Fault{cudaErrorLaunchFailure, what};
}

}  // namespace

void run_faithful(KernelCall& call, int part, int parts) {
  static thread_local BlockRunner runner;
  const auto blocks = static_cast<std::int64_t>(call.grid.x) * call.grid.y * call.grid.z;
  std::vector<std::int64_t> order(static_cast<std::size_t>(blocks * (part + 1) / parts - blocks * part / parts));
  std::iota(order.begin(), order.end(), blocks * part / parts);
  std::mt19937_64 random(call.seed ^ static_cast<std::uint64_t>(part));
  std::shuffle(order.begin(), order.end(), random);
  for (const std::int64_t b : order) {
    const auto index = static_cast<std::uint64_t>(b);
    const Coordinates at{static_cast<unsigned>(index % call.grid.x), static_cast<unsigned>(index / call.grid.x % call.grid.y),
                         static_cast<unsigned>(index / call.grid.x / call.grid.y)};
    runner.run(call, at, random());
  }
}

}  // namespace lockstep::sim
