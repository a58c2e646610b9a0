// What makes the others wait: a replica that computes longer than the rest, a link that sends slower than the rest.
#pragma once

#include <optional>
#include <set>

#include "simulator/trace/critical_path.h"

namespace lockstep {

// Named when it is the slowest in most of at least 5 steps and, at the median, 1.3 times as slow as the median of the others.
Straggler slow_replica(const StepTable& table, const std::set<std::int64_t>& steps);
// By messages of equal size in one bucket; named from 2 times on, since small messages differ more.
Straggler slow_link(const StepTable& table, const std::set<std::int64_t>& steps);

}  // namespace lockstep
