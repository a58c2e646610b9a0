// The network thread of a process: waits for sockets and for work that other threads hand to it, and does one thing after another.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "simulator/gpu/nccl/message/socket.h"

namespace lockstep::sim::nccl {

class EventLoop {
 public:
  EventLoop();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  void stop();  // not from the network thread

  // From any thread; runs soon, in the order of the calls.
  void post(std::function<void()> work);
  void post_at(Clock::time_point when, std::function<void()> work);  // on the network thread only

  // On the network thread only. `ready` gets poll's events; the loop keeps it until `unwatch`.
  void watch(int descriptor, short events, std::function<void(short)> ready);
  void change(int descriptor, short events);
  void unwatch(int descriptor);

 private:
  struct Watch {
    short events = 0;
    std::shared_ptr<std::function<void(short)>> ready;
  };
  void run();
  void work_off();
  int milliseconds_to_wait() const;

  Socket bell_;  // an eventfd
  std::mutex mutex_;
  std::vector<std::function<void()>> posted_;  // guarded by mutex_
  std::atomic<bool> stopping_{false};
  std::map<int, Watch> watches_;
  std::multimap<Clock::time_point, std::function<void()>> later_;
  std::thread thread_;
};

// The process's own; made at first use, ended before the virtual GPUs are.
EventLoop& network();

}  // namespace lockstep::sim::nccl
