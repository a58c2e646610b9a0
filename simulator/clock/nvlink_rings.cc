#include "simulator/clock/nvlink_rings.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

namespace lockstep::clock {

namespace {

// Searches for as many cycles as the links allow, by trying each cycle first: eight GPUs have 2,520. Where there are so many links that the
// search would take long it takes what it has found, as NCCL's search does.
constexpr int kSteps = 1'000'000;

class CycleSearch {
 public:
  CycleSearch(LinkCounts links, int ranks) : links_(std::move(links)), ranks_(static_cast<std::size_t>(ranks)), bound_(most_possible()) {}

  int most() {
    start_cycle(0);
    return best_;
  }

 private:
  int most_possible() const {
    int fewest = std::numeric_limits<int>::max();
    for (std::size_t from = 0; from < ranks_; ++from) {
      int degree = 0;
      for (std::size_t to = 0; to < ranks_; ++to) degree += links_[from][to];
      fewest = std::min(fewest, degree / 2);
    }
    return fewest;
  }
  void start_cycle(int found) {
    best_ = std::max(best_, found);
    if (best_ == bound_) return;
    std::vector<bool> on_it(ranks_, false);
    on_it[0] = true;
    extend(0, 1, on_it, found);
  }
  void extend(std::size_t last, std::size_t length, std::vector<bool>& on_it, int found) {
    if (best_ == bound_ || --steps_left_ < 0) return;
    if (length == ranks_) {
      if (links_[last][0] == 0) return;
      take(last, 0, 1);
      start_cycle(found + 1);
      take(last, 0, -1);
      return;
    }
    for (std::size_t next = 1; next < ranks_; ++next) {
      if (on_it[next] || links_[last][next] == 0) continue;
      take(last, next, 1);
      on_it[next] = true;
      extend(next, length + 1, on_it, found);
      on_it[next] = false;
      take(last, next, -1);
    }
  }
  void take(std::size_t from, std::size_t to, int count) {
    links_[from][to] -= count;
    links_[to][from] -= count;
  }

  LinkCounts links_;
  std::size_t ranks_;
  int bound_;
  int best_ = 0;
  int steps_left_ = kSteps;
};

}  // namespace

int nvlink_rings(const LinkCounts& links, int ranks) {
  if (ranks < 2) return 0;
  if (ranks == 2) return links[0][1];
  return 2 * CycleSearch(links, ranks).most();
}

}  // namespace lockstep::clock
