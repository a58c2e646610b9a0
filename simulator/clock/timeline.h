// Discrete-event simulation of lanes (streams), host threads and shared resources.
//
// A lane runs its tasks one after another. A task starts when the one before it is done, the host has issued it and the moments it waits
// for have passed. It lasts a fixed time, and then as long as its body takes on the resources that it demands. Resources are divided by
// processor sharing: tasks that together ask for more than there is all slow down, and no part of a resource stays idle while a task asks
// for it.
//
// Every host thread has a simulated time. It grows with every call, and jumps when the host waits, to a time that is known only once the
// simulation has come that far. So a host is a list of things to do as well. The result does not depend on when tasks were appended, only
// on program order, dependencies and, where two things happen at once, on the numbers of lanes: the same program gives the same times, to
// the picosecond.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <queue>
#include <vector>

namespace lockstep::clock {

using Time = std::int64_t;  // picoseconds
inline constexpr Time kNever = INT64_MAX;
inline constexpr double kPicoseconds = 1e12;  // in a second

// "Everything on the lane up to this task is done." Tasks of a lane count from 1.
struct Moment {
  int lane = -1;
  std::uint64_t task = 0;
};

// How much of a resource a body uses while it runs at full speed; 1 is all of it.
struct Demand {
  int resource = -1;
  double share = 0;
};

// The time at which a host thread or a task reaches a point; shared by all that wait for it.
struct Stamp {
  Time at = kNever;
  std::vector<int> hosts;  // that wait for it
};
using StampPtr = std::shared_ptr<Stamp>;

// Lanes meet here: all wait until `expected` of them have come.
struct Meeting {
  int expected = 0;
  int came = 0;
  bool open = false;  // lanes no longer wait
  std::vector<int> waiting;
};

struct Task {
  Time fixed = 0;   // uses nothing but time
  double body = 0;  // picoseconds at full speed
  std::array<Demand, 6> demands{};
  int demanded = 0;
  int engine = -1;  // one of those must be free: tasks take turns, in the order of their start
  std::vector<Moment> after;
  std::shared_ptr<Meeting> meeting;
  StampPtr begun, done;  // null: not asked for
  std::uint32_t tag = 0;

  void demand(int resource, double share) {
    if (share > 0) demands[static_cast<std::size_t>(demanded++)] = {resource, share};
  }
};

class Timeline {
 public:
  // `sharing_loss`: bodies that share a resource lose this part of what is asked for beyond it (caches, scheduling).
  int add_resource(double sharing_loss = 0);
  int add_engines(int count);  // a pool for Task::engine
  int add_lane();
  int add_host();
  int resources() const { return static_cast<int>(resources_.size()); }
  int engines() const { return static_cast<int>(engines_.size()); }
  void free_lane(int lane);  // the next task there does not wait for the ones before: another stream uses the lane

  // What a host thread does, in its order.
  void spend(int host, Time time);
  void wait(int host, const Moment& moment);
  void wait(int host, const StampPtr& stamp);
  StampPtr mark(int host);                               // the host's time here
  Moment append(int lane, Task task, int host);          // issued by this host, here
  Moment append_at(int lane, Task task, Time earliest);  // by no host
  void open(Meeting& meeting);

  // Runs the simulation until the host has done everything it was given; its time then. kNever: impossible, since it waits for a host or
  // lane that has not been given the work.
  Time settle(int host);
  void settle(const StampPtr& stamp);  // until it is known
  void run();                          // to the end of everything
  Time now() const { return now_; }
  std::uint64_t tasks() const { return tasks_; }

  // Called for every task that ends; for recordings.
  std::function<void(int lane, std::uint64_t task, std::uint32_t tag, Time begin, Time end)> on_done;

 private:
  enum class State : std::uint8_t { idle, scheduled, queued, fixed, running, meeting };
  struct Lane {
    std::deque<Task> queue;
    std::deque<Time> issued;  // of the queue: kNever until the host has come to it
    std::uint64_t done = 0;   // tasks
    std::uint64_t appended = 0;
    Time free_at = 0;
    Time begin = 0;
    State state = State::idle;
    // The body under way.
    double left = 0;
    double speed = 0;
    Time since = 0;
    std::uint32_t version = 0;
    std::deque<Time> ends;  // of the latest tasks, up to `done`
    std::vector<std::pair<std::uint64_t, int>> lanes_waiting, hosts_waiting;
  };
  struct Step {
    enum class Kind : std::uint8_t { spend, wait_place, wait_stamp, mark, issue } kind;
    Time time = 0;
    Moment moment;
    StampPtr stamp;
  };
  struct Host {
    Time now = 0;
    std::deque<Step> steps;
  };
  struct Resource {
    double loss = 0;
    double load = 0;
    std::vector<int> lanes;
  };
  struct Engines {
    int free = 0;
    std::deque<int> waiting;
  };
  struct Event {
    Time at = 0;
    int lane = 0;
    std::uint32_t version = 0;
    bool operator>(const Event& other) const { return at != other.at ? at > other.at : lane > other.lane; }
  };

  bool passed(const Moment& moment) const;
  Time end_of(const Moment& moment) const;
  void advance_host(int host);
  void consider(int lane);
  void begin_task(int lane);
  void begin_body(int lane);
  void finish_body(int lane);
  void complete(int lane);
  void reschedule(int lane);
  void share_again(const Task& changed);
  double speed_of(const Task& task) const;
  void set(const StampPtr& stamp, Time at);
  bool step();
  void schedule(int lane, Time at);

  std::deque<Lane> lanes_;
  std::deque<Host> hosts_;
  std::vector<Resource> resources_;
  std::vector<Engines> engines_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<int> touched_;
  Time now_ = 0;
  std::uint64_t tasks_ = 0;
};

}  // namespace lockstep::clock
