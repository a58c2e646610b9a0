#include "simulator/clock/timeline.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace lockstep::clock {

namespace {

constexpr std::size_t kEndsKept = 1 << 14;  // an older moment has passed before anything that is still to come

Time rounded_up(double picoseconds) { return static_cast<Time>(std::ceil(picoseconds)); }

}  // namespace

int Timeline::add_resource(double sharing_loss) {
  resources_.push_back({sharing_loss, 0, {}});
  return static_cast<int>(resources_.size()) - 1;
}

int Timeline::add_engines(int count) {
  engines_.push_back({count, {}});
  return static_cast<int>(engines_.size()) - 1;
}

int Timeline::add_lane() {
  lanes_.emplace_back();
  return static_cast<int>(lanes_.size()) - 1;
}

int Timeline::add_host() {
  hosts_.emplace_back();
  return static_cast<int>(hosts_.size()) - 1;
}

void Timeline::free_lane(int lane) {
  Lane& here = lanes_[static_cast<std::size_t>(lane)];
  if (here.queue.empty()) here.free_at = 0;
}

void Timeline::spend(int host, Time time) {
  Host& here = hosts_[static_cast<std::size_t>(host)];
  if (here.steps.empty()) {
    here.now += time;
  } else if (here.steps.back().kind == Step::Kind::spend) {
    here.steps.back().time += time;
  } else {
    here.steps.push_back({Step::Kind::spend, time, {}, nullptr});
  }
}

void Timeline::wait(int host, const Moment& moment) {
  if (moment.lane < 0) return;
  hosts_[static_cast<std::size_t>(host)].steps.push_back({Step::Kind::wait_place, 0, moment, nullptr});
  advance_host(host);
}

void Timeline::wait(int host, const StampPtr& stamp) {
  if (stamp == nullptr) return;
  hosts_[static_cast<std::size_t>(host)].steps.push_back({Step::Kind::wait_stamp, 0, {}, stamp});
  advance_host(host);
}

StampPtr Timeline::mark(int host) {
  auto stamp = std::make_shared<Stamp>();
  Host& here = hosts_[static_cast<std::size_t>(host)];
  if (here.steps.empty()) {
    stamp->at = here.now;
  } else {
    here.steps.push_back({Step::Kind::mark, 0, {}, stamp});
  }
  return stamp;
}

Moment Timeline::append(int lane, Task task, int host) {
  Lane& here = lanes_[static_cast<std::size_t>(lane)];
  Host& issuer = hosts_[static_cast<std::size_t>(host)];
  const Moment moment{lane, ++here.appended};
  here.queue.push_back(std::move(task));
  ++tasks_;
  if (issuer.steps.empty()) {
    here.issued.push_back(issuer.now);
    if (here.queue.size() == 1) consider(lane);
  } else {
    here.issued.push_back(kNever);
    issuer.steps.push_back({Step::Kind::issue, 0, moment, nullptr});
  }
  return moment;
}

Moment Timeline::append_at(int lane, Task task, Time earliest) {
  Lane& here = lanes_[static_cast<std::size_t>(lane)];
  const Moment moment{lane, ++here.appended};
  here.queue.push_back(std::move(task));
  here.issued.push_back(earliest);
  ++tasks_;
  if (here.queue.size() == 1) consider(lane);
  return moment;
}

void Timeline::open(Meeting& meeting) {
  meeting.open = true;
  for (const int lane : std::exchange(meeting.waiting, {})) complete(lane);
}

bool Timeline::passed(const Moment& moment) const {
  return moment.lane < 0 || lanes_[static_cast<std::size_t>(moment.lane)].done >= moment.task;
}

Time Timeline::end_of(const Moment& moment) const {
  if (moment.lane < 0 || moment.task == 0) return 0;
  const Lane& there = lanes_[static_cast<std::size_t>(moment.lane)];
  const std::uint64_t ago = there.done - moment.task;
  return ago < there.ends.size() ? there.ends[there.ends.size() - 1 - ago] : 0;
}

// Does what the host has before it, up to a wait that is not over.
void Timeline::advance_host(int host) {
  Host& here = hosts_[static_cast<std::size_t>(host)];
  while (!here.steps.empty()) {
    Step& next = here.steps.front();
    switch (next.kind) {
      case Step::Kind::spend:
        here.now += next.time;
        break;
      case Step::Kind::wait_place: {
        Lane& there = lanes_[static_cast<std::size_t>(next.moment.lane)];
        if (!passed(next.moment)) {
          there.hosts_waiting.emplace_back(next.moment.task, host);
          return;
        }
        here.now = std::max(here.now, end_of(next.moment));
        break;
      }
      case Step::Kind::wait_stamp:
        if (next.stamp->at == kNever) {
          next.stamp->hosts.push_back(host);
          return;
        }
        here.now = std::max(here.now, next.stamp->at);
        break;
      case Step::Kind::mark: {
        const StampPtr stamp = next.stamp;
        here.steps.pop_front();
        set(stamp, here.now);
        continue;
      }
      case Step::Kind::issue: {
        Lane& there = lanes_[static_cast<std::size_t>(next.moment.lane)];
        const std::uint64_t offset = next.moment.task - there.done - 1;
        const int lane = next.moment.lane;
        there.issued[offset] = here.now;
        here.steps.pop_front();
        if (offset == 0) consider(lane);
        continue;
      }
    }
    here.steps.pop_front();
  }
}

void Timeline::set(const StampPtr& stamp, Time at) {
  if (stamp == nullptr) return;
  stamp->at = at;
  for (const int host : std::exchange(stamp->hosts, {})) advance_host(host);
}

void Timeline::schedule(int lane, Time at) {
  Lane& here = lanes_[static_cast<std::size_t>(lane)];
  events_.push({at, lane, ++here.version});
}

// Whether the first task of the lane can be given a time to start at.
void Timeline::consider(int lane) {
  Lane& here = lanes_[static_cast<std::size_t>(lane)];
  if (here.state != State::idle || here.queue.empty() || here.issued.front() == kNever) return;
  Time start = std::max(here.free_at, here.issued.front());
  for (const Moment& moment : here.queue.front().after) {
    if (!passed(moment)) {
      lanes_[static_cast<std::size_t>(moment.lane)].lanes_waiting.emplace_back(moment.task, lane);
      return;
    }
    start = std::max(start, end_of(moment));
  }
  here.state = State::scheduled;
  here.begin = std::max(start, now_);
  schedule(lane, here.begin);
}

void Timeline::begin_task(int lane) {
  Lane& here = lanes_[static_cast<std::size_t>(lane)];
  const Task& task = here.queue.front();
  here.begin = now_;
  set(task.begun, now_);
  if (task.meeting != nullptr) {
    Meeting& meeting = *task.meeting;
    if (!meeting.open && ++meeting.came < meeting.expected) {
      here.state = State::meeting;
      meeting.waiting.push_back(lane);
      return;
    }
    meeting.open = true;
    std::vector<int> others = std::exchange(meeting.waiting, {});
    std::sort(others.begin(), others.end());
    complete(lane);
    for (const int other : others) complete(other);
    return;
  }
  if (task.fixed > 0) {
    here.state = State::fixed;
    schedule(lane, now_ + task.fixed);
  } else {
    begin_body(lane);
  }
}

double Timeline::speed_of(const Task& task) const {
  double slowest = 1;
  for (int i = 0; i < task.demanded; ++i) {
    const Resource& resource = resources_[static_cast<std::size_t>(task.demands[static_cast<std::size_t>(i)].resource)];
    if (resource.load > 1) slowest = std::min(slowest, 1 / (resource.load + resource.loss * (resource.load - 1)));
  }
  return slowest;
}

void Timeline::begin_body(int lane) {
  Lane& here = lanes_[static_cast<std::size_t>(lane)];
  const Task& task = here.queue.front();
  if (task.body <= 0) {
    finish_body(lane);
    return;
  }
  here.state = State::running;
  here.left = task.body;
  here.since = now_;
  here.speed = 1;
  for (int i = 0; i < task.demanded; ++i) {
    const Demand& demand = task.demands[static_cast<std::size_t>(i)];
    Resource& resource = resources_[static_cast<std::size_t>(demand.resource)];
    resource.load += demand.share;
    resource.lanes.push_back(lane);
  }
  here.speed = speed_of(task);
  reschedule(lane);
  share_again(task);
}

void Timeline::reschedule(int lane) {
  const Lane& here = lanes_[static_cast<std::size_t>(lane)];
  schedule(lane, now_ + rounded_up(here.left / here.speed));
}

// A task came or went: all tasks that share one of its resources get a new speed.
void Timeline::share_again(const Task& changed) {
  touched_.clear();
  for (int i = 0; i < changed.demanded; ++i) {
    const Resource& resource = resources_[static_cast<std::size_t>(changed.demands[static_cast<std::size_t>(i)].resource)];
    touched_.insert(touched_.end(), resource.lanes.begin(), resource.lanes.end());
  }
  if (touched_.empty()) return;
  std::sort(touched_.begin(), touched_.end());
  touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
  for (const int lane : touched_) {
    Lane& here = lanes_[static_cast<std::size_t>(lane)];
    const double speed = speed_of(here.queue.front());
    if (speed == here.speed) continue;
    here.left = std::max(0.0, here.left - here.speed * static_cast<double>(now_ - here.since));
    here.since = now_;
    here.speed = speed;
    reschedule(lane);
  }
}

void Timeline::finish_body(int lane) {
  Lane& here = lanes_[static_cast<std::size_t>(lane)];
  const Task& task = here.queue.front();
  const int engine = task.engine;
  if (here.state == State::running) {
    here.state = State::idle;
    for (int i = 0; i < task.demanded; ++i) {
      const Demand& demand = task.demands[static_cast<std::size_t>(i)];
      Resource& resource = resources_[static_cast<std::size_t>(demand.resource)];
      resource.lanes.erase(std::find(resource.lanes.begin(), resource.lanes.end(), lane));
      resource.load = 0;  // a fresh sum: subtracting the share would accumulate rounding errors
      for (const int other : resource.lanes) {
        const Task& running = lanes_[static_cast<std::size_t>(other)].queue.front();
        for (int k = 0; k < running.demanded; ++k) {
          const Demand& there = running.demands[static_cast<std::size_t>(k)];
          if (there.resource == demand.resource) resource.load += there.share;
        }
      }
    }
    share_again(task);
  }
  if (engine >= 0) {
    Engines& engines = engines_[static_cast<std::size_t>(engine)];
    if (engines.waiting.empty()) {
      ++engines.free;
    } else {
      const int next = engines.waiting.front();
      engines.waiting.pop_front();
      begin_task(next);
    }
  }
  complete(lane);
}

void Timeline::complete(int lane) {
  Lane& here = lanes_[static_cast<std::size_t>(lane)];
  const StampPtr done = std::move(here.queue.front().done);
  const std::uint32_t tag = here.queue.front().tag;
  here.queue.pop_front();
  here.issued.pop_front();
  here.state = State::idle;
  here.free_at = now_;
  ++here.done;
  here.ends.push_back(now_);
  if (here.ends.size() > kEndsKept) here.ends.pop_front();
  if (on_done) on_done(lane, here.done, tag, here.begin, now_);
  if (!here.lanes_waiting.empty()) {
    std::vector<int> ready;
    std::erase_if(here.lanes_waiting, [&](const auto& waiter) {
      if (waiter.first > here.done) return false;
      ready.push_back(waiter.second);
      return true;
    });
    for (const int other : ready) consider(other);
  }
  if (!here.hosts_waiting.empty()) {
    std::vector<int> ready;
    std::erase_if(here.hosts_waiting, [&](const auto& waiter) {
      if (waiter.first > here.done) return false;
      ready.push_back(waiter.second);
      return true;
    });
    for (const int host : ready) advance_host(host);
  }
  set(done, now_);
  consider(lane);
}

bool Timeline::step() {
  while (!events_.empty()) {
    const Event event = events_.top();
    events_.pop();
    Lane& lane = lanes_[static_cast<std::size_t>(event.lane)];
    if (event.version != lane.version) continue;  // its speed has changed since
    now_ = std::max(now_, event.at);
    switch (lane.state) {
      case State::scheduled: {
        const int pool = lane.queue.front().engine;
        if (pool >= 0) {
          Engines& engines = engines_[static_cast<std::size_t>(pool)];
          if (engines.free == 0) {
            lane.state = State::queued;
            engines.waiting.push_back(event.lane);
            break;
          }
          --engines.free;
        }
        begin_task(event.lane);
        break;
      }
      case State::fixed:
        begin_body(event.lane);
        break;
      case State::running:
        finish_body(event.lane);
        break;
      case State::idle:
      case State::queued:
      case State::meeting:
        break;
    }
    return true;
  }
  return false;
}

Time Timeline::settle(int host) {
  Host& here = hosts_[static_cast<std::size_t>(host)];
  while (!here.steps.empty()) {
    if (!step()) return kNever;
  }
  return here.now;
}

void Timeline::settle(const StampPtr& stamp) {
  while (stamp->at == kNever && step()) {
  }
}

void Timeline::run() {
  while (step()) {
  }
}

}  // namespace lockstep::clock
