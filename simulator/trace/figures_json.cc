// The figures as the page and other programs read them. Times of steps are nanoseconds, means milliseconds.
#include <nlohmann/json.hpp>

#include "simulator/trace/figures.h"

namespace lockstep {
namespace {

nlohmann::json straggler(const Straggler& one) {
  if (!one.found) return nullptr;
  nlohmann::json json = {{"times", one.times_slower}, {"sentence", one.sentence()}};
  if (one.replica >= 0)
    json["replica"] = one.replica;
  else
    json["from"] = one.from, json["to"] = one.to;
  return json;
}

nlohmann::json step_json(const StepFigures& step) {
  nlohmann::json json = {{"step", step.step}, {"begin", step.begin_ns}, {"end", step.end_ns}, {"inspected", step.inspected}};
  for (const ReplicaFigures& one : step.replicas)
    json["replicas"].push_back({{"replica", one.replica},
                                {"phases", one.phase_ns},
                                {"hidden", one.hidden_ns},
                                {"exposed", one.exposed_ns},
                                {"busy", one.busy_ns},
                                {"idle", one.idle_ns},
                                {"idleAllReduce", one.idle_all_reduce_ns},
                                {"idleBarrier", one.idle_barrier_ns},
                                {"idleHost", one.idle_host_ns}});
  for (const CriticalPiece& piece : step.critical)
    json["critical"].push_back(
        {{"what", piece.what}, {"phase", piece.phase}, {"replica", piece.replica}, {"begin", piece.begin_ns}, {"end", piece.end_ns}});
  return json;
}

}  // namespace

std::string figures_json(const TraceFigures& figures) {
  nlohmann::json json = {{"replicas", figures.replicas},
                         {"counted", figures.counted},
                         {"stepMs", figures.step_ms},
                         {"phaseMs", figures.phase_ms},
                         {"hiddenMs", figures.hidden_ms},
                         {"exposedMs", figures.exposed_ms},
                         {"busyMs", figures.busy_ms},
                         {"idleMs", figures.idle_ms},
                         {"idleAllReduceMs", figures.idle_all_reduce_ms},
                         {"idleBarrierMs", figures.idle_barrier_ms},
                         {"idleHostMs", figures.idle_host_ms},
                         {"slowReplica", straggler(figures.slow_replica)},
                         {"slowLink", straggler(figures.slow_link)}};
  json["criticalMs"] = nlohmann::json::array();
  for (const auto& [kind, ms] : figures.critical_ms) json["criticalMs"].push_back({kind, ms});
  json["steps"] = nlohmann::json::array();
  for (const StepFigures& step : figures.steps) json["steps"].push_back(step_json(step));
  return json.dump();
}

}  // namespace lockstep
