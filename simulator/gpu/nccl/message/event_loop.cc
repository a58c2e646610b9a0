#include "simulator/gpu/nccl/message/event_loop.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include <cuda_runtime.h>

namespace lockstep::sim::nccl {

EventLoop::EventLoop() : bell_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "nccl-network");
    run();
  });
}

EventLoop::~EventLoop() { stop(); }

void EventLoop::stop() {
  if (stopping_.exchange(true)) return;
  post([] {});
  thread_.join();
  watches_.clear();
  later_.clear();
}

void EventLoop::post(std::function<void()> work) {
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    first = posted_.empty();
    posted_.push_back(std::move(work));
  }
  if (!first) return;
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = write(bell_.get(), &one, sizeof(one));
}

void EventLoop::post_at(Clock::time_point when, std::function<void()> work) { later_.emplace(when, std::move(work)); }

int EventLoop::milliseconds_to_wait() const {
  if (later_.empty()) return -1;
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(later_.begin()->first - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left + 1, 0, 60000));
}

void EventLoop::watch(int descriptor, short events, std::function<void(short)> ready) {
  watches_[descriptor] = {events, std::make_shared<std::function<void(short)>>(std::move(ready))};
}

void EventLoop::change(int descriptor, short events) {
  if (const auto found = watches_.find(descriptor); found != watches_.end()) found->second.events = events;
}

void EventLoop::unwatch(int descriptor) { watches_.erase(descriptor); }

void EventLoop::work_off() {
  std::vector<std::function<void()>> work;
  {
    const std::lock_guard lock(mutex_);
    work.swap(posted_);
  }
  for (auto& one : work) {
    one();
    one = nullptr;  // what it holds is destroyed before the next begins
  }
}

void EventLoop::run() {
  std::vector<pollfd> descriptors;
  while (!stopping_) {
    descriptors.assign(1, {bell_.get(), POLLIN, 0});
    for (const auto& [descriptor, watch] : watches_) descriptors.push_back({descriptor, watch.events, 0});
    if (poll(descriptors.data(), descriptors.size(), milliseconds_to_wait()) < 0) continue;  // a signal
    if (descriptors[0].revents != 0) {
      std::uint64_t rings = 0;
      [[maybe_unused]] const auto got = read(bell_.get(), &rings, sizeof(rings));
    }
    // A descriptor that was closed in this round may already be open again as another one: then its watch is not the one that was polled.
    std::vector<std::pair<short, std::shared_ptr<std::function<void(short)>>>> ready;
    for (std::size_t i = 1; i < descriptors.size(); ++i) {
      if (descriptors[i].revents != 0) ready.emplace_back(descriptors[i].revents, watches_[descriptors[i].fd].ready);
    }
    for (const auto& [events, call] : ready) {
      for (const auto& [descriptor, watch] : watches_) {
        if (watch.ready != call) continue;
        (*call)(events);
        break;
      }
    }
    work_off();
    while (!later_.empty() && later_.begin()->first <= Clock::now()) later_.extract(later_.begin()).mapped()();
  }
  work_off();  // ranks that have just left notify the others, which would report a dead process otherwise
}

namespace {

// Stopped but not destroyed: what still runs at the end of the process may post work, which is then not done.
union Forever {
  Forever() : loop() {}
  ~Forever() {}
  EventLoop loop;
};

struct StopAtExit {
  EventLoop& loop;
  explicit StopAtExit(EventLoop& one) : loop(one) {}
  ~StopAtExit() { loop.stop(); }
  StopAtExit(const StopAtExit&) = delete;
  StopAtExit& operator=(const StopAtExit&) = delete;
};

int make_the_gpus_first() {
  int devices = 0;
  cudaGetDeviceCount(&devices);
  return devices;
}

}  // namespace

EventLoop& network() {
  static const int devices = make_the_gpus_first();  // then they end after the loop, which opens their gates
  (void)devices;
  static Forever forever;
  static const StopAtExit stop(forever.loop);
  return forever.loop;
}

}  // namespace lockstep::sim::nccl
