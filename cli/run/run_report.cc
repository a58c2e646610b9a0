#include "cli/run/run_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <memory>
#include <numeric>

#include "cli/put.h"

namespace lockstep::cli {
namespace {

enum Phase { kReplicate, kShard, kLocalGradients, kAllReduce, kUpdate, kBarrier };
constexpr double kMib = 1024.0 * 1024.0;

// Three significant digits.
std::string in_ms(double seconds) {
  const double ms = seconds * 1e3;
  return fmt::format("{:.{}f}", ms, ms >= 100 ? 0 : ms >= 10 ? 1 : ms >= 1 ? 2 : 3);
}

std::string bar(double share) {
  constexpr double kCells = 36;
  std::string cells;
  for (int i = 0; i < static_cast<int>(std::lround(share * kCells)); ++i) cells += "━";
  return cells;
}

void print_table(const std::vector<ReplicaReport>& replicas) {
  std::string text = fmt::format("{:24}  {:-^42}\n", "", " milliseconds of a step ");
  text += fmt::format("{:>7} {:>8} {:>7}  {:>6} {:>9} {:>10} {:>6} {:>7}  {:>9}\n", "replica", "samples", "loss", "shard", "gradients",
                      "all-reduce", "update", "barrier", "MiB/peak");
  for (const ReplicaReport& one : replicas) {
    const auto steps = static_cast<double>(std::max<std::int64_t>(1, one.steps));
    const auto each = [&](Phase phase) { return in_ms(one.seconds[phase] / steps); };
    const std::string memory =
        fmt::format("{:.0f}/{:.0f}", static_cast<double>(one.memory_used) / kMib, static_cast<double>(one.memory_peak) / kMib);
    text += fmt::format("{:>7} {:>8} {:>7.4f}  {:>6} {:>9} {:>10} {:>6} {:>7}  {:>9}\n", one.replica, one.samples, one.loss(), each(kShard),
                        each(kLocalGradients), each(kAllReduce), each(kUpdate), each(kBarrier), memory);
  }
  put(text);
}

// A command to try, and why.
struct Hint {
  std::string command, reason;
};

std::string laid_out(const std::vector<Hint>& hints) {
  std::string text = "What to look at next:\n";
  for (const Hint& hint : hints) text += fmt::format("  {}\n      {}\n", hint.command, hint.reason);
  return text;
}

}  // namespace

Callback print_replicas() {
  const auto before = std::make_shared<std::vector<ReplicaReport>>();
  Callback callback;
  callback.on_epoch_begin = [before](TrainingEvent& event) { *before = replica_reports(*event.model); };
  callback.on_epoch_end = [before](TrainingEvent& event) {
    std::vector<ReplicaReport> now = replica_reports(*event.model);
    for (std::size_t r = 0; r < now.size() && r < before->size(); ++r) now[r] = now[r].since((*before)[r]);
    print_table(now);
  };
  return callback;
}

double StepTimes::of_a_step() const {
  const double all = std::accumulate(seconds.begin() + kShard, seconds.end(), between);
  return steps > 0 ? all / static_cast<double>(steps) : 0;
}

double StepTimes::share(int phase) const {
  const double whole = of_a_step() * static_cast<double>(steps);
  return whole > 0 ? seconds.at(static_cast<std::size_t>(phase)) / whole : 0;
}

StepTimes step_times(const std::vector<ReplicaReport>& replicas, double training_seconds) {
  StepTimes times;
  times.replicas = replicas.size();
  if (replicas.empty()) return times;
  times.steps = replicas.front().steps;
  for (const ReplicaReport& one : replicas)
    for (std::size_t i = 0; i < one.seconds.size(); ++i) times.seconds[i] += one.seconds[i] / static_cast<double>(replicas.size());
  times.between = std::max(0.0, training_seconds - std::accumulate(times.seconds.begin() + kShard, times.seconds.end(), 0.0));
  return times;
}

std::string table_of_work(const std::vector<ReplicaReport>& replicas) {
  if (replicas.empty()) return "";
  const std::int64_t steps = std::max<std::int64_t>(1, replicas.front().steps);
  std::string text = fmt::format("What the phases did in {} step{}, by replica\n", replicas.front().steps, steps == 1 ? "" : "s");
  text += fmt::format("  {:>7}  {:>22}  {:>26}  {:>10}\n", "replica", "copied to it", "sum received in a step", "updates");
  for (const ReplicaReport& one : replicas) {
    const std::int64_t times = std::max<std::int64_t>(1, one.replications);
    const std::string copied = fmt::format("{}{} bytes", times > 1 ? fmt::format("{} x ", times) : "", one.replicated_bytes / times);
    text += fmt::format("  {:>7}  {:>22}  {:>20} bytes  {:>10}\n", one.replica, one.replica == 0 ? "the source" : copied,
                        one.summed_bytes / steps, one.updates);
  }
  return text;
}

std::string json_of_work(const std::vector<ReplicaReport>& replicas) {
  std::string text;
  for (const ReplicaReport& one : replicas)
    text += fmt::format("{}{{\"replica\": {}, \"replications\": {}, \"replicated_bytes\": {}, \"summed_bytes\": {}, \"updates\": {}}}",
                        text.empty() ? "" : ", ", one.replica, one.replications, one.replicated_bytes, one.summed_bytes, one.updates);
  return "[" + text + "]";
}

std::string table_of_phases(const StepTimes& times) {
  if (times.steps == 0) return "";
  constexpr std::array<const char*, kPhases.size()> notes = {
      "", "", "", "exposed; the rest overlaps local gradients", "", "waiting for other replicas and the host"};
  const auto steps = static_cast<double>(times.steps);
  std::string text = fmt::format("Where the time of a step went: {} ms, the mean of {} step{} on {} replica{}\n", in_ms(times.of_a_step()),
                                 times.steps, times.steps == 1 ? "" : "s", times.replicas, times.replicas == 1 ? "" : "s");
  text += fmt::format("  {:<15} {:>8} ms, once\n", kPhases[kReplicate], in_ms(times.seconds[kReplicate]));
  const auto row = [&](const char* name, double seconds, const char* note) {
    const double share = seconds / (times.of_a_step() * steps);
    const std::string cells = bar(share);
    const std::size_t shown = cells.size() / 3;  // a cell is three bytes
    std::string line = fmt::format("  {:<15} {:>8} ms {:>3.0f} %  {}", name, in_ms(seconds / steps), share * 100, cells);
    constexpr std::size_t kWidth = 79, kFixed = 37;
    if (*note != '\0' && kFixed + shown + 2 + std::string(note).size() <= kWidth) line += std::string(shown > 0 ? 2 : 0, ' ') + note;
    return line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  };
  for (std::size_t i = kShard; i < kPhases.size(); ++i) text += row(kPhases[i], times.seconds[i], notes[i]);
  if (times.between > 0) text += row("between steps", times.between, "data, metrics, progress");
  return text;
}

std::string json_of_phases(const StepTimes& times) {
  std::string text;
  for (std::size_t i = 0; i < kPhases.size(); ++i)
    text += fmt::format("{}\"{}\": {:.6f}", text.empty() ? "" : ", ", kPhases[i], times.seconds[i]);
  return "{" + text + "}";
}

std::string what_next(const RunOptions& options, const StepTimes& times) {
  constexpr double kMuch = 0.15;
  const std::string run = "lockstep run " + options.workload;
  std::vector<Hint> hints;
  if (times.replicas > 1 && times.share(kAllReduce) > kMuch)
    hints.push_back({"lockstep project " + options.workload + " --machine 4xt4",
                     fmt::format("models this step on four T4s; here {:.0f} % of it waits for gradients", 100 * times.share(kAllReduce))});
  if (times.replicas > 1 && times.share(kBarrier) > kMuch && !options.verbose)
    hints.push_back({run + " --verbose",
                     fmt::format("prints each replica's times; {:.0f} % of a step waits at the barrier", 100 * times.share(kBarrier))});
  if (options.trace.empty()) hints.push_back({run + " --trace step.html", "a page that replays the first steps"});
  if (options.save.empty()) {
    hints.push_back({run + fmt::format(" --save {}.keras", options.workload), "saves the trained model; Keras reads it too"});
  } else if (options.workload != "reuters" && !options.save.ends_with(".weights.h5")) {
    hints.push_back({fmt::format("lockstep predict {} {}", options.save, options.workload == "mnist" ? "digit.png" : "photo.jpg"),
                     "classifies your own picture with the trained model"});
  }
  hints.push_back({fmt::format("lockstep compare {} --gpus 1,2,4", options.workload), "trains the same model on one, two and four GPUs"});
  hints.push_back({"lockstep lesson 1", "build this yourself, lesson by lesson"});
  constexpr std::size_t kAtMost = 3;
  hints.resize(std::min(hints.size(), kAtMost));
  return laid_out(hints);
}

}  // namespace lockstep::cli
