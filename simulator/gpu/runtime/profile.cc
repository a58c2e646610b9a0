#include "simulator/gpu/runtime/profile.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "simulator/gpu/runtime/execute.h"

namespace lockstep::sim {

Profile& profile() {
  static Profile one;
  return one;
}

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void Profile::start() {
  const std::lock_guard lock(mutex_);
  rows_.clear();
  on_.store(true, std::memory_order_relaxed);
}

std::vector<ProfileRow> Profile::take() {
  on_.store(false, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  std::vector<ProfileRow> rows;
  for (auto& [key, row] : rows_) rows.push_back(std::move(row));
  rows_.clear();
  std::stable_sort(rows.begin(), rows.end(), [](const ProfileRow& a, const ProfileRow& b) { return a.seconds > b.seconds; });
  return rows;
}

void Profile::add(const Node& node, int part, double seconds) {
  const Cost cost = node.kind == NodeKind::kernel ? node.kernel.cost : node.what().cost;
  std::string name = name_of(node);
  const std::lock_guard lock(mutex_);
  ProfileRow& row = rows_[{name, cost.flops, cost.bytes}];
  if (row.runs == 0) row.name = std::move(name);
  row.cost = cost;
  if (part == 0) ++row.runs;
  row.seconds += seconds;
}

}  // namespace lockstep::sim
