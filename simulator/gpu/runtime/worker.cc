// The worker threads of the executor.
#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <numeric>
#include <utility>

#include "simulator/gpu/runtime/checker.h"
#include "simulator/gpu/runtime/execute.h"
#include "simulator/gpu/runtime/executor.h"
#include "simulator/gpu/runtime/model_clock.h"

namespace lockstep::sim {

namespace {

constinit thread_local bool worker_thread = false;

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Parallelism comes from parts. OpenMP, where some library brought it into the process, must not add threads of its own.
void be_a_single_openmp_thread() {
  if (void* const found = dlsym(RTLD_DEFAULT, "omp_set_num_threads")) reinterpret_cast<void (*)(int)>(found)(1);
}

void become_worker(const std::string& name) {
  worker_thread = true;
  pthread_setname_np(pthread_self(), name.c_str());
  be_a_single_openmp_thread();
}

// Where nothing is computed (--no-math), operations that neither compute nor move tensors still run: memory that is freed, host functions,
// planned faults, and collectives, which leave out their arithmetic themselves.
bool is_left_out(const Node& node) {
  if (!no_math() || node.planned != cudaSuccess) return false;
  if (node.kind == NodeKind::kernel) return true;
  switch (node.what().kind) {
    case OperationKind::host_function:
    case OperationKind::marker:
    case OperationKind::collective:
      return false;
    default:
      return true;
  }
}

constexpr int kMostPassedOver = 64;
constexpr int kSpinRounds = 64;  // about 20 microseconds of an otherwise idle core

}  // namespace

bool on_worker_thread() { return worker_thread; }

// Runs something of the node; what goes wrong becomes the device's sticky error.
template <typename Run>
void Executor::guarded(Node& node, const Run& run) {
  const int device = node.stream->device;
  try {
    run();
  } catch (const Fault& fault) {
    fail(device, fault.status, name_of(node) + ": " + fault.what);
  } catch (const std::exception& problem) {
    fail(device, cudaErrorLaunchFailure, name_of(node) + ": " + problem.what());
  } catch (...) {
    fail(device, cudaErrorLaunchFailure, name_of(node) + ": unknown exception");
  }
}

void Executor::work(int index) {
  become_worker("gpu-worker-" + std::to_string(index));
  Lock lock(mutex_);
  while (!stopping_.load(std::memory_order_relaxed)) {
    if (index == 0 || !seeded()) {
      if (Node* const job = own_job(index)) {
        run_claimed(*job, lock);
        continue;
      }
      if (Stream* const stream = pick(index, lock)) {
        start(stream, lock);
        continue;
      }
      if (!open_jobs_.empty()) {
        run_claimed(*open_jobs_.front(), lock);
        continue;
      }
    }
    idle(index, lock);
  }
}

void Executor::work_for_host() {
  become_worker("gpu-host");
  Lock lock(mutex_);
  while (!stopping_.load(std::memory_order_relaxed)) {
    if (host_jobs_.empty()) {
      const std::uint32_t before = host_bell_.load(std::memory_order_relaxed);
      lock.unlock();
      host_bell_.wait(before, std::memory_order_acquire);
      lock.lock();
      continue;
    }
    Node& node = *host_jobs_.front();
    host_jobs_.pop_front();
    run_alone(node, lock);
    const int awake = workers_to_wake();
    if (awake > 0) {
      lock.unlock();
      wake(awake);
      lock.lock();
    }
  }
}

// An operation that this worker started, with parts that are not claimed yet. Under a seed there is one worker for all.
Node* Executor::own_job(int index) {
  for (Node* job : open_jobs_) {
    if (seeded() || job->stream->worker == index) return job;
  }
  return nullptr;
}

// The next ready stream. First choice: of the streams that this worker ran last, the one that became ready last, whose data its cache
// holds; then a new stream, then the first of all. Under a seed: one at random. The first one is passed over kMostPassedOver times at most.
Stream* Executor::pick(int index, Lock& lock) {
  if (ready_.empty()) return nullptr;
  std::size_t place = 0;
  if (seeded()) {
    if (!held_back_ && random_() % 4 == 0) {
      // Let the host run ahead; but not when it waits for us.
      held_back_ = true;
      const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(random_() % 300);
      lock.unlock();
      while (host_waiters_.load(std::memory_order_relaxed) == 0 && std::chrono::steady_clock::now() < until) {
        std::this_thread::sleep_for(std::chrono::microseconds(10));
      }
      lock.lock();
      if (ready_.empty()) return nullptr;
    }
    held_back_ = false;
    place = random_() % ready_.size();
  } else if (ready_.front()->passed_over < kMostPassedOver) {
    const auto mine = std::find_if(ready_.rbegin(), ready_.rend(), [&](const Stream* stream) { return stream->worker == index; });
    const auto fresh = std::find_if(ready_.begin(), ready_.end(), [&](const Stream* stream) { return stream->worker < 0; });
    if (mine != ready_.rend()) {
      place = static_cast<std::size_t>(ready_.rend() - mine) - 1;
    } else if (fresh != ready_.end()) {
      place = static_cast<std::size_t>(fresh - ready_.begin());
    }
    if (place != 0) ++ready_.front()->passed_over;
  }
  Stream* const stream = ready_[place];
  stream->worker = index;
  stream->passed_over = 0;
  ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(place));
  work_hint_.store(!ready_.empty() || !open_jobs_.empty(), std::memory_order_relaxed);
  return stream;
}

// Does what the stream's first node asks for, or parks the stream.
void Executor::start(Stream* stream, Lock& lock) {
  Node& node = *stream->head;
  if (waits(node)) return;
  switch (node.kind) {
    case NodeKind::gate:
      arrive(node);
      return;
    case NodeKind::record:
      if (node.event->records == node.record) node.event->time_ns = now_ns();
      complete(node);
      return;
    case NodeKind::wait:
      complete(node);
      return;
    case NodeKind::operation:
    case NodeKind::kernel:
      break;
  }
  node.skipped =
      devices_[static_cast<std::size_t>(stream->device)].error.load(std::memory_order_relaxed) != cudaSuccess || is_left_out(node);
  if (node.kind == NodeKind::operation && node.what().kind == OperationKind::host_function) {
    host_jobs_.push_back(&node);
    host_bell_.fetch_add(1, std::memory_order_release);
    lock.unlock();
    host_bell_.notify_one();
    lock.lock();
  } else if (node.parts > 1 && !node.skipped) {
    offer_parts(node, lock);
  } else {
    run_alone(node, lock);
  }
}

// Parks the stream behind the first moment that has not passed.
bool Executor::waits(Node& node) {
  for (const Moment& moment : node.after) {
    if (!passed(moment)) {
      moment.stream->waiters.push_back({moment.sequence, node.stream, nullptr});
      return true;
    }
  }
  if (check_ != nullptr) check_->started(node);
  node.after.clear();
  return false;
}

void Executor::arrive(Node& node) {
  Gate& gate = *node.gate;
  if (!gate.open) {
    if (check_ != nullptr) check_->reached_gate(node);
    gate.arrived.push_back(node.stream);
    if (static_cast<int>(gate.arrived.size()) < gate.expected) return;
    gate.open = true;
    for (Stream* stream : std::exchange(gate.arrived, {})) {
      if (stream != node.stream) make_ready(stream);  // finds the gate open
    }
  }
  if (check_ != nullptr) check_->left_gate(node);
  const std::shared_ptr<Gate> keep = std::move(node.gate);
  complete(node);
}

void Executor::run_alone(Node& node, Lock& lock) {
  const int awake = workers_to_wake();
  lock.unlock();
  wake(awake);
  if (!node.skipped) {
    guarded(node, [&] {
      prepare(node);
      for (int part = 0; part < node.parts; ++part) run_part(node, part);
      if (check_ != nullptr) check_->after_run(node);
    });
  }
  clean(node);
  lock.lock();
  complete(node);
}

void Executor::offer_parts(Node& node, Lock& lock) {
  node.claimed = node.finished = 0;
  if (seeded()) {
    node.part_order.resize(static_cast<std::size_t>(node.parts));
    std::iota(node.part_order.begin(), node.part_order.end(), 0);
    std::shuffle(node.part_order.begin(), node.part_order.end(), random_);
  }
  lock.unlock();
  bool prepared = false;
  guarded(node, [&] {
    prepare(node);
    prepared = true;
  });
  if (!prepared) {
    clean(node);
    lock.lock();
    complete(node);
    return;
  }
  lock.lock();
  open_jobs_.push_back(&node);
  work_hint_.store(true, std::memory_order_relaxed);
  const int awake = workers_to_wake(1);
  if (awake > 0) {
    lock.unlock();
    wake(awake);
    lock.lock();
  }
}

void Executor::run_claimed(Node& node, Lock& lock) {
  const int claim = node.claimed++;
  if (node.claimed == node.parts) std::erase(open_jobs_, &node);
  work_hint_.store(!ready_.empty() || !open_jobs_.empty(), std::memory_order_relaxed);
  const int part = node.part_order.empty() ? claim : node.part_order[static_cast<std::size_t>(claim)];
  lock.unlock();
  guarded(node, [&] { run_part(node, part); });
  lock.lock();
  if (++node.finished < node.parts) return;
  lock.unlock();
  if (check_ != nullptr) guarded(node, [&] { check_->after_run(node); });
  clean(node);
  lock.lock();
  complete(node);
}

// Before the node counts as complete: then what the operation's function holds is destroyed before a waiting thread goes on.
void Executor::clean(Node& node) {
  operations_.fetch_add(1, std::memory_order_relaxed);
  release(node);
}

void Executor::release(Node& node) {
  if (node.borrowed != nullptr) {
    node.borrowed = nullptr;
  } else if (node.kind == NodeKind::operation) {
    node.operation = Operation{};
  }
  node.body.reset();
  node.kernel.outside.reset();
  node.part_order.clear();
}

void Executor::complete(Node& node) {
  Stream* const stream = node.stream;
  stream->head = node.next;
  if (stream->head == nullptr) stream->tail = nullptr;
  stream->completed.store(node.sequence, std::memory_order_release);
  if (!stream->waiters.empty()) {
    std::erase_if(stream->waiters, [&](const Waiter& waiter) {
      if (waiter.sequence > node.sequence) return false;
      if (waiter.stream != nullptr) {
        make_ready(waiter.stream);
      } else {
        --host_waiters_;
        waiter.host->done.store(1, std::memory_order_release);
        waiter.host->done.notify_one();
      }
      return true;
    });
  }
  if (stream->head != nullptr) {
    make_ready(stream);
  } else {
    stream->busy = false;
    if (!stream->alive.load(std::memory_order_relaxed)) {
      std::erase(devices_[static_cast<std::size_t>(stream->device)].streams, stream);
      streams_.put_back(stream);
    }
  }
  if (check_ != nullptr) node.check.reset();
  const Lock lock(pool_mutex_);
  node.next = unused_;
  unused_ = &node;
}

void Executor::make_ready(Stream* stream) {
  stream->busy = true;
  ready_.push_back(stream);
  work_hint_.store(true, std::memory_order_relaxed);
}

// Nothing to do: one worker looks around for a while, the others sleep.
void Executor::idle(int index, Lock& lock) {
  if (spinners_ == 0 && !(seeded() && index != 0)) {
    ++spinners_;
    lock.unlock();
    spin_until(kSpinRounds, [&] { return work_hint_.load(std::memory_order_relaxed) || stopping_.load(std::memory_order_relaxed); });
    lock.lock();
    --spinners_;
    if (!ready_.empty() || !open_jobs_.empty()) return;
  }
  if (stopping_.load(std::memory_order_relaxed)) return;
  ++sleepers_;
  if (index == 0) first_sleeps_ = true;
  const std::uint32_t before = bell_.load(std::memory_order_relaxed);
  lock.unlock();
  bell_.wait(before, std::memory_order_acquire);
  lock.lock();
  --sleepers_;
  if (index == 0) first_sleeps_ = false;
  waking_ = std::max(0, waking_ - 1);
}

// How many sleepers are worth waking for what is there to do, beyond those that are about to look by themselves.
// `mine` jobs are the caller's own.
int Executor::workers_to_wake(int mine) {
  if (sleepers_ == 0) return 0;
  if (seeded()) return first_sleeps_ && !ready_.empty() ? sleepers_ : 0;  // any of the sleepers may be the one
  int jobs = static_cast<int>(ready_.size()) - mine;
  for (const Node* node : open_jobs_) jobs += node->parts - node->claimed;
  const int missing = std::min(jobs - spinners_ - waking_, sleepers_ - waking_);
  if (missing <= 0) return 0;
  waking_ += missing;
  return missing;
}

void Executor::wake(int count) {
  if (count == 0) return;
  bell_.fetch_add(1, std::memory_order_release);
  for (int i = 0; i < count; ++i) bell_.notify_one();
}

}  // namespace lockstep::sim
