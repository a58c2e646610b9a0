#include "simulator/clock/recording.h"

#include <algorithm>
#include <array>

namespace lockstep::clock {

namespace {

constexpr double kMicro = 1e-6;  // of a picosecond

enum class Tag : std::uint32_t { none, kernel, collective, meeting };

using Spans = std::vector<std::pair<Time, Time>>;

// The length of what the spans cover.
Time covered(Spans& spans) {
  std::sort(spans.begin(), spans.end());
  Time sum = 0, at = 0;
  for (const auto& [begin, end] : spans) {
    const Time from = std::max(begin, at);
    if (end > from) sum += end - from;
    at = std::max(at, end);
  }
  return sum;
}

// How much of `spans` lies outside all of `others`.
Time outside(Spans spans, const Spans& others) {
  Spans both = spans;
  both.insert(both.end(), others.begin(), others.end());
  Spans rest = others;
  return covered(both) - covered(rest);
}

}  // namespace

int Recording::local_host(int host) { return hosts_.try_emplace(host, static_cast<int>(hosts_.size())).first->second; }

Moment Recording::local(const Moment& moment) const {
  const auto found = lanes_.find(moment.lane);
  if (found == lanes_.end() || moment.task <= found->second.before) return {};
  return {found->second.number, moment.task - found->second.before};
}

void Recording::spend(int host, Time time) { items_.push_back({Kind::spend, local_host(host), time, {}, 0}); }

void Recording::wait(int host, const Moment& moment) {
  const Moment here = local(moment);
  if (here.lane >= 0) items_.push_back({Kind::wait_place, local_host(host), 0, here, 0});
}

void Recording::wait(int host, const StampPtr& stamp) {
  const auto found = stamps_.find(stamp.get());
  if (found != stamps_.end()) items_.push_back({Kind::wait_stamp, local_host(host), 0, {}, found->second.second});
}

void Recording::mark(int host, const StampPtr& stamp) {
  const std::size_t number = stamps_.size();
  stamps_[stamp.get()] = {stamp, number};
  items_.push_back({Kind::mark, local_host(host), 0, {}, number});
}

void Recording::append(const Moment& moment, const Task& task, int host, int device, const CollectiveShape* collective) {
  lanes_.try_emplace(moment.lane, LocalLane{static_cast<int>(lanes_.size()), moment.task - 1});
  Body body;
  body.task = task;
  body.device = device;
  body.task.begun.reset();
  body.task.done.reset();
  body.task.meeting.reset();
  body.task.after.clear();
  for (const Moment& one : task.after) {
    if (const Moment here = local(one); here.lane >= 0) body.task.after.push_back(here);
  }
  body.task.tag = static_cast<std::uint32_t>(task.body > 0 && device >= 0 ? Tag::kernel : Tag::none);
  if (task.meeting != nullptr) {
    const auto [found, fresh] = meetings_.try_emplace(task.meeting.get(), task.meeting, static_cast<int>(meetings_.size()));
    if (fresh) expected_.push_back(task.meeting->expected);
    body.meeting = found->second.second;
    body.task.tag = static_cast<std::uint32_t>(Tag::meeting);
  }
  if (collective != nullptr) {
    body.collective = static_cast<int>(collectives_.size());
    collectives_.push_back(*collective);
    body.task.tag = static_cast<std::uint32_t>(Tag::collective);
  }
  items_.push_back({Kind::append, local_host(host), 0, local(moment), bodies_.size()});
  bodies_.push_back(std::move(body));
  ++tasks_;
}

// Where two things happen at once the lane with the lower number comes first. Threads record in whatever order they come, so what counts is
// the order in which the program made its lanes.
std::vector<int> Recording::lanes_in_order() const {
  std::vector<std::pair<int, int>> made;
  for (const auto& [original, here] : lanes_) made.emplace_back(original, here.number);
  std::sort(made.begin(), made.end());
  std::vector<int> rank(made.size());
  for (std::size_t i = 0; i < made.size(); ++i) rank[static_cast<std::size_t>(made[i].second)] = static_cast<int>(i);
  return rank;
}

Recording::Outcome Recording::play(const Machine& node, const Plan& plan) const {
  Timeline timeline;
  const std::vector<int> rank = lanes_in_order();
  const auto lane_of = [&](const Moment& moment) { return rank[static_cast<std::size_t>(moment.lane)]; };
  const auto lanes = static_cast<int>(lanes_.size()), hosts = static_cast<int>(hosts_.size());
  std::vector<std::shared_ptr<Meeting>> meetings;
  for (const int expected : expected_) {
    meetings.push_back(std::make_shared<Meeting>());
    meetings.back()->expected = expected * plan.nodes;
  }
  Machine all = node;
  all.gpus = node.gpus_per_node * plan.nodes;

  std::vector<CollectiveTime> times;
  for (const CollectiveShape& shape : collectives_) {
    const Allowed allowed{shape.allowed.ring && plan.allowed.ring, shape.allowed.tree && plan.allowed.tree,
                          shape.allowed.in_switch && plan.allowed.in_switch};
    times.push_back(collective_time(all, shape.what, shape.bytes, shape.ranks * plan.nodes, allowed));
  }

  Outcome outcome;
  std::vector<std::vector<StampPtr>> stamps(static_cast<std::size_t>(plan.nodes));
  int resources = 0, engines = 0;
  for (int n = 0; n < plan.nodes; ++n) {
    const int first_resource = n * resources, first_engine = n * engines;
    const Hardware hardware(node, timeline, node.gpus_per_node);
    if (n == 0) {
      resources = timeline.resources();
      engines = timeline.engines();
    }
    for (int l = 0; l < lanes; ++l) timeline.add_lane();
    for (int h = 0; h < hosts; ++h) timeline.add_host();
    auto& marks = stamps[static_cast<std::size_t>(n)];
    marks.resize(stamps_.size());
    const int first_lane = n * lanes, first_host = n * hosts;
    for (const Item& item : items_) {
      const int host = first_host + item.host;
      switch (item.kind) {
        case Kind::spend:
          timeline.spend(host, item.time);
          break;
        case Kind::wait_place:
          timeline.wait(host, Moment{first_lane + lane_of(item.moment), item.moment.task});
          break;
        case Kind::wait_stamp:
          timeline.wait(host, marks[item.what]);
          break;
        case Kind::mark:
          marks[item.what] = timeline.mark(host);
          break;
        case Kind::append: {
          const Body& body = bodies_[item.what];
          Task task;
          if (body.collective >= 0) {
            const auto c = static_cast<std::size_t>(body.collective);
            task = hardware.collective(body.device, times[c], collectives_[c].bytes);
          } else {
            task = body.task;
          }
          for (int d = 0; d < task.demanded && body.collective < 0; ++d)
            task.demands[static_cast<std::size_t>(d)].resource += first_resource;
          if (task.engine >= 0 && body.collective < 0) task.engine += first_engine;
          task.after = body.task.after;
          for (Moment& moment : task.after) moment.lane = first_lane + lane_of(moment);
          task.tag = body.task.tag;
          if (body.meeting >= 0) task.meeting = meetings[static_cast<std::size_t>(body.meeting)];
          if (n == plan.slow_node && body.device == plan.slow_device && body.collective < 0) {
            task.body *= plan.slowdown;
            task.fixed = static_cast<Time>(static_cast<double>(task.fixed) * plan.slowdown);
          }
          timeline.append(first_lane + lane_of(item.moment), std::move(task), host);
          break;
        }
      }
    }
  }

  // What the first GPU does is watched.
  std::vector<bool> watched(static_cast<std::size_t>(lanes), false);
  for (const Item& item : items_) {
    if (item.kind == Kind::append && bodies_[item.what].device == 0) watched[static_cast<std::size_t>(lane_of(item.moment))] = true;
  }
  Spans kernels, collectives, waits;
  timeline.on_done = [&](int lane, std::uint64_t, std::uint32_t tag, Time begin, Time end) {
    if (lane >= lanes || !watched[static_cast<std::size_t>(lane)]) return;
    switch (static_cast<Tag>(tag)) {
      case Tag::kernel:
        kernels.emplace_back(begin, end);
        break;
      case Tag::collective:
        collectives.emplace_back(begin, end);
        break;
      case Tag::meeting:
        waits.emplace_back(begin, end);
        break;
      case Tag::none:
        break;
    }
  };
  Time last = 0;
  timeline.run();
  for (int h = 0; h < hosts * plan.nodes; ++h) last = std::max(last, timeline.settle(h));
  outcome.step_us = static_cast<double>(last) * kMicro;
  outcome.exposed_us = static_cast<double>(outside(collectives, kernels)) * kMicro;
  outcome.kernels = kernels.size();
  outcome.collectives = collectives.size();
  outcome.compute_us = static_cast<double>(covered(kernels)) * kMicro;
  outcome.communication_us = static_cast<double>(covered(collectives)) * kMicro;
  Spans busy = kernels;
  busy.insert(busy.end(), collectives.begin(), collectives.end());
  outcome.waiting_us = static_cast<double>(outside(waits, busy)) * kMicro;
  outcome.tasks = timeline.tasks();
  for (const Body& body : bodies_) {
    if (body.device != 0) continue;
    if (body.collective >= 0) {
      outcome.collective_bytes += collectives_[static_cast<std::size_t>(body.collective)].bytes;
      continue;
    }
    if (body.task.body <= 0) continue;
    outcome.fixed_us += static_cast<double>(body.task.fixed) * kMicro;
    // Of a device's resources arithmetic is the first and memory the second.
    std::array<double, 2> shares{};
    for (int d = 0; d < body.task.demanded; ++d) {
      const Demand& demand = body.task.demands[static_cast<std::size_t>(d)];
      if (demand.resource < 2) shares[static_cast<std::size_t>(demand.resource)] = demand.share;
    }
    const bool idle = body.task.engine < 0 && std::max(shares[0], shares[1]) < 0.5;  // a copy idles nothing that it could use
    (idle ? outcome.idle_us : shares[0] > shares[1] ? outcome.arithmetic_us : outcome.memory_us) += body.task.body * kMicro;
  }
  return outcome;
}

}  // namespace lockstep::clock
