// Where the step's time went, what it waited for, and which replica or link was slow; one run, or two side by side.
#include "simulator/trace/trace_summary.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "simulator/trace/figures.h"

namespace lockstep {
namespace {

template <typename... Values>
std::string line(const char* format, Values... values) {
  std::array<char, 240> text{};
  std::snprintf(text.data(), text.size(), format, values...);
  return text.data();
}

std::string count(std::size_t n, const char* what) { return std::to_string(n) + " " + what + (n == 1 ? "" : "s"); }

double share(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

std::string bar(double part, double whole, int width) {
  const int least = part > 0.0005 * whole ? 1 : 0;  // none beside "0.0 %"
  const int filled = whole > 0 ? std::clamp(static_cast<int>(part / whole * width + 0.5), least, width) : 0;
  std::string text;
  for (int i = 0; i < filled; ++i) text += "█";
  return text;
}

std::string ranges(const std::vector<std::int64_t>& steps) {
  std::string text;
  for (std::size_t i = 0; i < steps.size();) {
    std::size_t j = i;
    while (j + 1 < steps.size() && steps[j + 1] == steps[j] + 1) ++j;
    text += (text.empty() ? "" : ", ") + std::to_string(steps[i]) + (j > i ? "-" + std::to_string(steps[j]) : "");
    i = j + 1;
  }
  return text;
}

std::string headline(const TraceContents& contents) {
  const nlohmann::json about = nlohmann::json::parse(contents.about, nullptr, false);
  std::string text = about.is_object() ? about.value("title", "") : "";
  if (about.is_object() && about.contains("algorithm"))
    text += (text.empty() ? "" : ", ") + ("all-reduce " + about["algorithm"].get<std::string>());
  return text;
}

std::string stragglers(const TraceFigures& figures) {
  std::string text;
  for (const Straggler* one : {&figures.slow_replica, &figures.slow_link})
    if (one->found) text += "  Straggler: " + one->sentence() + ".\n";
  return text.empty() && figures.replicas > 1 ? "  No straggler: no replica and no link is clearly slower than the others.\n" : text;
}

// Replica 0's checksum by step, where it was taken.
std::map<std::int64_t, std::string> checksums(const TraceContents& contents) {
  std::map<std::int64_t, std::string> all;
  for (const Span& span : contents.spans)
    if (span.phase == Phase::barrier && span.depth == 0 && all.count(span.step) == 0)
      if (const std::string* sum = span.detail("checksum")) all[span.step] = *sum;
  return all;
}

}  // namespace

std::string trace_summary(const TraceContents& contents) {
  const TraceFigures f = trace_figures(contents.spans);
  if (f.steps.empty()) return "No step was traced.\n";
  std::string text = headline(contents);
  if (!text.empty()) text += "\n";
  text += "Where the time of a step went: mean of step" + std::string(f.counted.size() == 1 ? " " : "s ") + ranges(f.counted) + " on " +
          count(static_cast<std::size_t>(f.replicas), "replica") + "\n";
  text += "  phase                  ms  of a step\n";
  for (std::size_t p = 0; p < kPhases.size(); ++p)
    text += line("  %-16s %9.3f  %7.1f %%  %s\n", kPhases[p], f.phase_ms[p], share(f.phase_ms[p], f.step_ms),
                 bar(f.phase_ms[p], f.step_ms, 32).c_str());
  text += line("  %-16s %9.3f  (phases overlap, so shares may add up to more)\n", "step", f.step_ms);
  text += "What it waited for\n";
  if (f.replicas > 1) {
    const double all_reduce = f.hidden_ms + f.exposed_ms;
    text += line("  Overlap: %.0f %% of the all-reduce is hidden behind local gradients;\n", share(f.hidden_ms, all_reduce));
    text += line("           exposed communication %.3f ms, %.1f %% of the step.\n", f.exposed_ms, share(f.exposed_ms, f.step_ms));
  }
  text += line("  Idle:    a GPU computes %.1f %% of the step and waits %.3f ms: for the\n", share(f.busy_ms, f.step_ms), f.idle_ms);
  text += line("           all-reduce %.3f, at the barrier %.3f, for the host %.3f.\n", f.idle_all_reduce_ms, f.idle_barrier_ms,
               f.idle_host_ms);
  text += "  Critical path:\n";
  for (const auto& [kind, ms] : f.critical_ms) text += line("    %-16s %9.3f ms %5.1f %%\n", kind.c_str(), ms, share(ms, f.step_ms));
  return text + stragglers(f);
}

std::string compare_traces(const TraceContents& a, const std::string& name_a, const TraceContents& b, const std::string& name_b) {
  const TraceFigures fa = trace_figures(a.spans), fb = trace_figures(b.spans);
  if (fa.steps.empty() || fb.steps.empty()) return "No step was traced in " + (fa.steps.empty() ? name_a : name_b) + ".\n";
  std::string text;
  for (const auto& [name, contents, figures] : {std::tie(name_a, a, fa), std::tie(name_b, b, fb)}) {
    text += std::string(&figures == &fa ? "A: " : "B: ") + name + "\n   " + headline(contents) + ", " +
            count(static_cast<std::size_t>(figures.replicas), "replica") + ", mean of " + count(figures.counted.size(), "step") + "\n";
  }
  text += "                         A ms       B ms      B - A    B / A\n";
  const auto row = [&](const char* what, double x, double y) {
    text += line("  %-18s %10.3f %10.3f %+10.3f", what, x, y, y - x) + (x > 0 ? line(" %8.2f\n", y / x) : std::string("        -\n"));
  };
  for (std::size_t p = 0; p < kPhases.size(); ++p) row(kPhases[p], fa.phase_ms[p], fb.phase_ms[p]);
  row("step", fa.step_ms, fb.step_ms);
  row("exposed all-reduce", fa.exposed_ms, fb.exposed_ms);
  row("idle", fa.idle_ms, fb.idle_ms);
  text += line("  %-18s %9.0f%% %9.0f%%\n", "hidden all-reduce", share(fa.hidden_ms, fa.hidden_ms + fa.exposed_ms),
               share(fb.hidden_ms, fb.hidden_ms + fb.exposed_ms));
  std::map<std::string, std::pair<double, double>> critical;
  for (const auto& [kind, ms] : fa.critical_ms) critical[kind].first = ms;
  for (const auto& [kind, ms] : fb.critical_ms) critical[kind].second = ms;
  text += "On the critical path\n";
  for (const auto& [kind, ms] : critical) row(kind.c_str(), ms.first, ms.second);
  const std::string slow_a = stragglers(fa), slow_b = stragglers(fb);
  if (!slow_a.empty()) text += "A:" + slow_a.substr(1);
  if (!slow_b.empty()) text += "B:" + slow_b.substr(1);

  const auto sums_a = checksums(a), sums_b = checksums(b);
  std::int64_t same = 0, different = 0;
  for (const auto& [step, sum] : sums_a) {
    const auto other = sums_b.find(step);
    if (other == sums_b.end()) continue;
    if (other->second == sum) {
      ++same;
    } else if (different == 0) {
      different = step;
    }
  }
  if (different)
    text += "Weights: they differ from step " + std::to_string(different) + " on.\n";
  else if (same)
    text += "Weights: the same bits in both runs after every step compared (" + std::to_string(same) + ").\n";
  return text;
}

}  // namespace lockstep
