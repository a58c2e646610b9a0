// One pass over the spans sorts them by step and replica; everything else is arithmetic on intervals.
#include "simulator/trace/figures.h"

#include <algorithm>
#include <map>
#include <set>

#include "simulator/trace/critical_path.h"
#include "simulator/trace/straggler.h"

namespace lockstep {
namespace {

using Intervals = std::vector<std::pair<std::int64_t, std::int64_t>>;

// The length of [begin, end) that no interval covers.
std::int64_t uncovered(std::int64_t begin, std::int64_t end, Intervals intervals) {
  std::sort(intervals.begin(), intervals.end());
  std::int64_t free = 0;
  std::int64_t at = begin;
  for (const auto& [from, to] : intervals) {
    if (from >= end) break;
    if (from > at) free += from - at;
    at = std::max(at, to);
  }
  return at < end ? free + end - at : free;
}

ReplicaFigures replica_figures(const ReplicaSpans& spans, int replica, std::int64_t begin, std::int64_t end) {
  ReplicaFigures figures;
  figures.replica = replica;
  Intervals gradients, busy, reduce, waits;
  for (const Span* span : spans.phases) {
    const std::int64_t from = std::max(begin, span->begin_ns);
    figures.phase_ns[static_cast<std::size_t>(span->phase)] += std::max<std::int64_t>(0, span->end_ns - from);
    const std::pair<std::int64_t, std::int64_t> interval(from, span->end_ns);
    if (span->phase == Phase::local_gradients) gradients.push_back(interval);
    if (span->phase == Phase::all_reduce) reduce.push_back(interval);
    if (span->phase == Phase::barrier) waits.push_back(interval);
    if (!span->communication && !span->host) busy.push_back(interval);
  }
  for (const auto& [from, to] : reduce) {
    const std::int64_t exposed = uncovered(from, to, gradients);
    figures.exposed_ns += exposed;
    figures.hidden_ns += to - from - exposed;
  }
  figures.idle_ns = uncovered(begin, end, busy);
  figures.busy_ns = end - begin - figures.idle_ns;
  Intervals taken = busy;  // an idle moment counts once: for the all-reduce, else for the barrier, else for the host
  const auto claim = [&](const Intervals& why) {
    const std::int64_t before = uncovered(begin, end, taken);
    taken.insert(taken.end(), why.begin(), why.end());
    return before - uncovered(begin, end, taken);
  };
  figures.idle_all_reduce_ns = claim(reduce);
  figures.idle_barrier_ns = claim(waits);
  figures.idle_host_ns = uncovered(begin, end, taken);
  return figures;
}

}  // namespace

StepTable step_table(const std::vector<Span>& spans) {
  std::set<std::int64_t> steps;
  for (const Span& span : spans)
    if (span.phase == Phase::update) steps.insert(span.step);
  StepTable table;
  for (const Span& span : spans) {
    if (!steps.count(span.step)) continue;
    ReplicaSpans& cell = table[span.step][span.replica];
    if (span.depth == 0)
      cell.phases.push_back(&span);
    else
      cell.parts.push_back(&span);
  }
  return table;
}

TraceFigures trace_figures(const std::vector<Span>& spans) {
  TraceFigures figures;
  std::set<int> replicas;
  const StepTable table = step_table(spans);
  for (const auto& [number, cells] : table) {
    StepFigures step;
    step.step = number;
    step.begin_ns = INT64_MAX;
    for (const auto& [replica, cell] : cells) {
      replicas.insert(replica);
      for (const Span* span : cell.phases) {
        if (span->phase == Phase::replicate && span->communication) continue;  // once, before the first step
        step.begin_ns = std::min(step.begin_ns, span->begin_ns);
        step.end_ns = std::max(step.end_ns, span->end_ns);
        if (span->phase == Phase::barrier && span->detail("inspected") != nullptr) step.inspected = true;
      }
    }
    for (const auto& [replica, cell] : cells) step.replicas.push_back(replica_figures(cell, replica, step.begin_ns, step.end_ns));
    step.critical = critical_path(cells, step.begin_ns, step.end_ns);
    figures.steps.push_back(std::move(step));
  }
  figures.replicas = static_cast<int>(replicas.size());
  if (figures.steps.empty()) return figures;

  // The first step plans, loads and allocates.
  const auto counts = [&](bool inspected_too, bool first_too) {
    figures.counted.clear();
    for (const StepFigures& step : figures.steps)
      if ((inspected_too || !step.inspected) && (first_too || step.step > 1)) figures.counted.push_back(step.step);
    return !figures.counted.empty();
  };
  if (!counts(false, false) && !counts(true, false)) counts(true, true);

  const std::set<std::int64_t> counted(figures.counted.begin(), figures.counted.end());
  std::map<std::string, double> critical;
  double cells = 0;
  for (const StepFigures& step : figures.steps) {
    if (!counted.count(step.step)) continue;
    figures.step_ms += static_cast<double>(step.ns()) / 1e6;
    for (const CriticalPiece& piece : step.critical) {
      const std::string kind = piece.phase < 0 ? piece.what : kPhases[static_cast<std::size_t>(piece.phase)];
      critical[kind] += static_cast<double>(piece.end_ns - piece.begin_ns) / 1e6;
    }
    for (const ReplicaFigures& one : step.replicas) {
      ++cells;
      for (std::size_t p = 0; p < 6; ++p) figures.phase_ms[p] += static_cast<double>(one.phase_ns[p]) / 1e6;
      figures.hidden_ms += static_cast<double>(one.hidden_ns) / 1e6;
      figures.exposed_ms += static_cast<double>(one.exposed_ns) / 1e6;
      figures.busy_ms += static_cast<double>(one.busy_ns) / 1e6;
      figures.idle_ms += static_cast<double>(one.idle_ns) / 1e6;
      figures.idle_all_reduce_ms += static_cast<double>(one.idle_all_reduce_ns) / 1e6;
      figures.idle_barrier_ms += static_cast<double>(one.idle_barrier_ns) / 1e6;
      figures.idle_host_ms += static_cast<double>(one.idle_host_ns) / 1e6;
    }
  }
  const auto n = static_cast<double>(figures.counted.size());
  figures.step_ms /= n;
  for (double* mean : {&figures.hidden_ms, &figures.exposed_ms, &figures.busy_ms, &figures.idle_ms, &figures.idle_all_reduce_ms,
                       &figures.idle_barrier_ms, &figures.idle_host_ms})
    *mean /= cells;
  for (double& ms : figures.phase_ms) ms /= cells;
  for (const auto& [kind, ms] : critical) figures.critical_ms.emplace_back(kind, ms / n);
  std::stable_sort(figures.critical_ms.begin(), figures.critical_ms.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  figures.slow_replica = slow_replica(table, counted);
  figures.slow_link = slow_link(table, counted);
  return figures;
}

}  // namespace lockstep
