// The worker threads of the executor.
#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <exception>
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
    if (index == 0 || !schedule_.seeded()) {
      if (Node* const job = schedule_.job_of(index)) {
        run_claimed(*job, lock);
        continue;
      }
      if (Stream* const stream = pick(index, lock)) {
        start(stream, lock);
        continue;
      }
      if (Node* const job = schedule_.any_job()) {
        run_claimed(*job, lock);
        continue;
      }
    }
    idle_.wait(index, lock, stopping_);
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
    const int awake = idle_.to_wake();
    if (awake > 0) {
      lock.unlock();
      idle_.wake(awake);
      lock.lock();
    }
  }
}

Stream* Executor::pick(int index, Lock& lock) {
  if (const auto time = schedule_.hold_back()) {  // the host runs ahead; but not while it waits for a stream
    const auto until = std::chrono::steady_clock::now() + *time;
    lock.unlock();
    while (host_waiters_.load(std::memory_order_relaxed) == 0 && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(std::chrono::microseconds(10));
    }
    lock.lock();
  }
  return schedule_.take(index);
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
  const int awake = idle_.to_wake();
  lock.unlock();
  idle_.wake(awake);
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
  schedule_.begin_parts(node);
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
  schedule_.offer(node);
  const int awake = idle_.to_wake(1);
  if (awake > 0) {
    lock.unlock();
    idle_.wake(awake);
    lock.lock();
  }
}

void Executor::run_claimed(Node& node, Lock& lock) {
  const int part = schedule_.claim(node);
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
  node.kernel.code.reset();
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
  nodes_.put_back(&node);
}

void Executor::make_ready(Stream* stream) {
  stream->busy = true;
  schedule_.add(stream);
}

}  // namespace lockstep::sim
