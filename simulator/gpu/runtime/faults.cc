#include "simulator/gpu/runtime/faults.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "simulator/gpu/runtime/fault_calls.h"
#include "simulator/gpu/runtime/runtime.h"

namespace lockstep::sim {

// The plans of the environment are armed with the runtime; until then the first call must look.
std::atomic<bool> faults_armed{std::getenv("LOCKSTEP_SIM_FAULT") != nullptr};

namespace {

// A gate that is to be opened later; the thread that opens it sleeps until then.
struct Stall {
  std::shared_ptr<Gate> gate;
  std::chrono::steady_clock::time_point until;
  bool forever = false;
};

struct Armed {
  std::mutex mutex;
  std::vector<FaultPlan> plans;
  std::vector<Stall> stalls;
  std::condition_variable changed;
  bool opener_runs = false;
};

// Not destroyed: a stalled stream's opener may outlive the end of main.
Armed& armed() {
  static auto* const state = new Armed;  // NOLINT(cppcoreguidelines-owning-memory)
  return *state;
}

constexpr std::array<std::string_view, 2> kAllocations = {"cudaMalloc", "cudaMallocAsync"};
constexpr std::array<std::string_view, 4> kCopies = {"cudaMemcpy", "cudaMemcpyAsync", "cudaMemcpyPeer", "cudaMemcpyPeerAsync"};
constexpr std::array<std::string_view, 5> kCollectives = {"ncclAllReduce", "ncclBroadcast", "ncclReduce", "ncclAllGather",
                                                          "ncclReduceScatter"};

template <std::size_t N>
bool among(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool covers(const std::string& plan, std::string_view call) {
  if (plan == call) return true;
  if (plan == "any") return call.starts_with("cuda");
  if (plan == "alloc") return among(kAllocations, call);
  if (plan == "launch") return call.starts_with("cudaLaunchKernel");
  if (plan == "copy") return among(kCopies, call);
  if (plan == "collective") return among(kCollectives, call);
  return false;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t end = text.find(separator);
    words.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return words;
    text.remove_prefix(end + 1);
  }
}

template <typename Number>
bool read(std::string_view text, Number& number) {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  return problem == std::errc{} && end == text.data() + text.size() && number >= 0;
}

bool known_call(std::string_view name) {
  constexpr std::array<std::string_view, 6> kGroups = {"any", "alloc", "launch", "copy", "collective", "operation"};
  return among(kGroups, name) || among(kFaultCalls, name);
}

FaultPlan parse_plan(std::string_view text, std::string& problem) {
  FaultPlan plan;
  const auto words = split(text, ':');
  plan.call = words.front();
  if (plan.call == "kill-peer") {
    plan.call = "collective";
    plan.kill = true;
  }
  bool good = known_call(plan.call);
  for (std::size_t i = 1; i < words.size() && good; ++i) {
    const std::string_view word = words[i];
    const auto value = [&](std::string_view key) { return word.starts_with(key) ? std::optional(word.substr(key.size())) : std::nullopt; };
    if (word == "hang") {
      plan.hang = true;
    } else if (word == "kill") {
      plan.kill = true;
    } else if (const auto device = value("device=")) {
      good = read(*device, plan.device);
    } else if (const auto error = value("error=")) {
      good = read(*error, plan.error) && plan.error > 0;
    } else if (const auto stall = value("stall=")) {
      good = read(*stall, plan.stall_ms);
    } else if (const auto times = value("times=")) {
      good = read(*times, plan.times);
    } else {
      good = i == 1 && read(word, plan.at);
    }
  }
  good = good && (!plan.hang || plan.call == "operation");
  if (!good) {
    problem = "the fault \"" + std::string(text) +
              "\" is not understood: call[:k][:device=d][:error=n][:stall=ms][:times=n][:hang][:kill], with the name of a call "
              "(fault_calls.h) or any, "
              "alloc, launch, copy, collective, operation (only this may hang), kill-peer";
  }
  return plan;
}

// What such a call says when it fails.
int usual_error(std::string_view call) {
  constexpr int kExecutionFailedOfCublas = 13, kExecutionFailedOfCudnn = 5000, kSystemErrorOfNccl = 2;
  if (among(kAllocations, call) || call == "cudaHostAlloc" || call == "cudaMallocHost") return cudaErrorMemoryAllocation;
  if (call.starts_with("cublas")) return kExecutionFailedOfCublas;
  if (call.starts_with("cudnn")) return kExecutionFailedOfCudnn;
  if (call.starts_with("nccl")) return kSystemErrorOfNccl;
  return call.starts_with("cudaLaunchKernel") ? cudaErrorLaunchFailure : cudaErrorUnknown;
}

// Counts the call, and answers the plan that hits it.
std::optional<FaultPlan> hit(std::string_view call, int device) {
  Armed& state = armed();
  const std::lock_guard lock(state.mutex);
  std::optional<FaultPlan> found;
  for (FaultPlan& plan : state.plans) {
    if (!covers(plan.call, call) || (plan.device >= 0 && plan.device != device)) continue;
    ++plan.seen;
    if (plan.at == 0 || plan.seen < plan.at || plan.seen - plan.at >= plan.times || found) continue;
    ++plan.fired;
    found = plan;
  }
  return found;
}

void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

void open_in_time() {
  Armed& state = armed();
  std::unique_lock lock(state.mutex);
  while (!state.stalls.empty()) {
    const auto due = std::find_if(state.stalls.begin(), state.stalls.end(),
                                  [](const Stall& stall) { return !stall.forever && stall.until <= std::chrono::steady_clock::now(); });
    if (due == state.stalls.end()) {
      state.changed.wait_for(lock, std::chrono::milliseconds(1));
      continue;
    }
    const auto gate = due->gate;
    state.stalls.erase(due);
    lock.unlock();
    open_gate(gate);
    lock.lock();
  }
  state.opener_runs = false;
}

}  // namespace

std::vector<FaultPlan> parse_faults(const std::string& text, std::string& problem) {
  std::vector<FaultPlan> plans;
  for (const std::string_view part : split(text, ';')) {
    if (!part.empty()) plans.push_back(parse_plan(part, problem));
  }
  return plans;
}

void arm_faults(const std::string& text) {
  std::string problem;
  auto plans = parse_faults(text, problem);
  if (!problem.empty()) throw std::invalid_argument(problem);
  Armed& state = armed();
  const std::lock_guard lock(state.mutex);
  state.plans = std::move(plans);
  faults_armed.store(!state.plans.empty(), std::memory_order_relaxed);
}

void reset_faults() {
  Armed& state = armed();
  std::vector<Stall> held;
  {
    const std::lock_guard lock(state.mutex);
    state.plans.clear();
    faults_armed.store(false, std::memory_order_relaxed);
    held.swap(state.stalls);
    state.changed.notify_all();
  }
  for (const Stall& stall : held) open_gate(stall.gate);
}

std::vector<FaultPlan> armed_faults() {
  Armed& state = armed();
  const std::lock_guard lock(state.mutex);
  return state.plans;
}

std::optional<int> look_up_fault(const char* call, int device) {
  runtime();
  const auto plan = hit(call, device);
  if (!plan) return std::nullopt;
  if (plan->kill) raise(SIGKILL);
  if (plan->stall_ms > 0) {
    sleep_ms(plan->stall_ms);
    if (plan->error < 0) return std::nullopt;
  }
  return plan->error >= 0 ? plan->error : usual_error(call);
}

OperationFault planned_operation_fault(int device) {
  const auto plan = hit("operation", device);
  if (!plan) return {};
  if (plan->kill) raise(SIGKILL);
  OperationFault fault;
  fault.stall_ms = plan->stall_ms;
  fault.hang = plan->hang;
  const bool only_late = plan->error < 0 && (plan->hang || plan->stall_ms > 0);
  if (!only_late) fault.error = plan->error >= 0 ? static_cast<cudaError_t>(plan->error) : cudaErrorLaunchFailure;
  return fault;
}

void open_after(const std::shared_ptr<Gate>& gate, const OperationFault& fault) {
  Armed& state = armed();
  const std::lock_guard lock(state.mutex);
  state.stalls.push_back({gate, std::chrono::steady_clock::now() + std::chrono::milliseconds(fault.stall_ms), fault.hang});
  if (std::exchange(state.opener_runs, true)) return;
  std::thread(open_in_time).detach();
}

}  // namespace lockstep::sim
