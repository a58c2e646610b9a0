// Where the time of a step went, in numbers and as a table.
#include "phase_figures.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

namespace lockstep {
namespace {

// The length of [begin, end) that no interval covers. Intervals are sorted by begin.
std::int64_t uncovered(std::int64_t begin, std::int64_t end, const std::vector<std::pair<std::int64_t, std::int64_t>>& intervals) {
  std::int64_t free = 0;
  std::int64_t at = begin;
  for (const auto& [from, to] : intervals) {
    if (from >= end) break;
    if (from > at) free += from - at;
    at = std::max(at, to);
  }
  return at < end ? free + end - at : free;
}

std::string row(const char* text, double ms, double share, const char* note) {
  std::array<char, 160> line{};
  std::snprintf(line.data(), line.size(), "  %-16s %10.3f %8.1f %%%s%s\n", text, ms, share, *note ? "  " : "", note);
  return line.data();
}

}  // namespace

PhaseFigures phase_figures(const std::vector<Span>& spans) {
  PhaseFigures figures;
  std::set<std::int64_t> steps;
  std::set<int> replicas;
  for (const Span& span : spans) {
    if (span.phase == Phase::update) steps.insert(span.step);
    replicas.insert(span.replica);
  }
  struct Cell {
    std::int64_t begin = 0, end = 0;
    bool any = false;
    std::vector<std::pair<std::int64_t, std::int64_t>> computing;
  };
  std::map<std::pair<std::int64_t, int>, Cell> cells;
  for (const Span& span : spans) {
    if (span.depth > 0 || !steps.count(span.step)) continue;
    Cell& cell = cells[{span.step, span.replica}];
    cell.begin = cell.any ? std::min(cell.begin, span.begin_ns) : span.begin_ns;
    cell.end = cell.any ? std::max(cell.end, span.end_ns) : span.end_ns;
    cell.any = true;
    const auto phase = static_cast<std::size_t>(span.phase);
    figures.phase_ms[phase] += static_cast<double>(span.end_ns - span.begin_ns) / 1e6;
    ++figures.spans[phase];
    if (span.phase == Phase::local_gradients) cell.computing.emplace_back(span.begin_ns, span.end_ns);
  }
  for (auto& [key, cell] : cells) {
    figures.step_ms += static_cast<double>(cell.end - cell.begin) / 1e6;
    std::sort(cell.computing.begin(), cell.computing.end());
  }
  for (const Span& span : spans) {
    if (span.depth > 0 || span.phase != Phase::all_reduce || !steps.count(span.step)) continue;
    figures.exposed_all_reduce_ms +=
        static_cast<double>(uncovered(span.begin_ns, span.end_ns, cells[{span.step, span.replica}].computing)) / 1e6;
  }
  figures.steps = static_cast<std::int64_t>(steps.size());
  figures.replicas = static_cast<int>(replicas.size());
  if (cells.empty()) return figures;
  const auto count = static_cast<double>(cells.size());
  figures.step_ms /= count;
  figures.exposed_all_reduce_ms /= count;
  for (double& ms : figures.phase_ms) ms /= count;
  return figures;
}

std::string Tracer::phase_summary() const {
  const PhaseFigures figures = phase_figures(spans());
  if (figures.steps == 0) return "No step was traced.\n";
  std::string text = "Where the time of a step went (mean of " + std::to_string(figures.steps) +
                     (figures.steps == 1 ? " step on " : " steps on ") + std::to_string(figures.replicas) +
                     (figures.replicas == 1 ? " replica):\n" : " replicas):\n");
  text += "  phase                    ms     share\n";
  const double whole = figures.step_ms > 0 ? figures.step_ms : 1;
  for (std::size_t phase = 0; phase < kPhaseNames.size(); ++phase) {
    std::array<char, 80> note{};
    const double ms = figures.phase_ms[phase];
    if (static_cast<Phase>(phase) == Phase::all_reduce && ms > 0) {
      std::snprintf(note.data(), note.size(), "(%.0f %% of it hidden behind local gradients)",
                    100 * (1 - figures.exposed_all_reduce_ms / ms));
    }
    text += row(kPhaseNames[phase], ms, 100 * ms / whole, note.data());
  }
  return text + row("step", figures.step_ms, 100, "");
}

}  // namespace lockstep
