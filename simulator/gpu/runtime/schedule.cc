#include "simulator/gpu/runtime/schedule.h"

#include <algorithm>
#include <numeric>

namespace lockstep::sim {

namespace {

constexpr int kMostPassedOver = 64;

}  // namespace

void Schedule::set_seed(std::uint64_t seed) {
  seed_ = seed;
  random_.seed(seed);
  held_back_ = false;
}

std::optional<std::chrono::microseconds> Schedule::draw_hold_back() {
  if (ready_.empty() || held_back_ || random_() % 4 != 0) return std::nullopt;
  held_back_ = true;
  return std::chrono::microseconds(random_() % 300);
}

// First choice: of the streams that this worker ran last, the one that became ready last, whose data its cache holds; then a new stream,
// then the first of all. The first one is passed over kMostPassedOver times at most.
Stream* Schedule::take(int worker) {
  if (ready_.empty()) return nullptr;
  std::size_t place = 0;
  if (seeded()) {
    held_back_ = false;
    place = random_() % ready_.size();
  } else if (ready_.front()->passed_over < kMostPassedOver) {
    const auto mine = std::find_if(ready_.rbegin(), ready_.rend(), [&](const Stream* stream) { return stream->worker == worker; });
    const auto fresh = std::find_if(ready_.begin(), ready_.end(), [&](const Stream* stream) { return stream->worker < 0; });
    if (mine != ready_.rend()) {
      place = static_cast<std::size_t>(ready_.rend() - mine) - 1;
    } else if (fresh != ready_.end()) {
      place = static_cast<std::size_t>(fresh - ready_.begin());
    }
    if (place != 0) ++ready_.front()->passed_over;
  }
  Stream* const stream = ready_[place];
  stream->worker = worker;
  stream->passed_over = 0;
  ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(place));
  note_work();
  return stream;
}

void Schedule::begin_parts(Node& node) {
  node.claimed = node.finished = 0;
  if (!seeded()) return;
  node.part_order.resize(static_cast<std::size_t>(node.parts));
  std::iota(node.part_order.begin(), node.part_order.end(), 0);
  std::shuffle(node.part_order.begin(), node.part_order.end(), random_);
}

void Schedule::offer(Node& node) {
  jobs_.push_back(&node);
  note_work();
}

int Schedule::claim(Node& node) {
  const int claim = node.claimed++;
  if (node.claimed == node.parts) std::erase(jobs_, &node);
  note_work();
  return node.part_order.empty() ? claim : node.part_order[static_cast<std::size_t>(claim)];
}

int Schedule::open_work() const {
  const auto add = [](int sum, const Node* node) { return sum + node->parts - node->claimed; };
  return std::accumulate(jobs_.begin(), jobs_.end(), static_cast<int>(ready_.size()), add);
}

}  // namespace lockstep::sim
