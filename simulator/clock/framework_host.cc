#include "simulator/clock/framework_host.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "embedded_machines.h"

namespace lockstep::clock {

namespace {

[[noreturn]] void refuse(const std::string& why) { throw std::runtime_error("not costs of a framework's host: " + why); }

const nlohmann::json& part(const nlohmann::json& json, const char* name) {
  if (!json.is_object() || !json.contains(name)) refuse(std::string("\"") + name + "\" is missing");
  return json[name];
}

double figure(const nlohmann::json& json, const char* name) {
  const nlohmann::json& value = part(json, name);
  if (!value.is_number()) refuse(std::string("\"") + name + "\" is not a number");
  if (value.get<double>() < 0) refuse(std::string("\"") + name + "\" is negative");
  return value;
}

std::string text(const nlohmann::json& json, const char* name) {
  const nlohmann::json& value = part(json, name);
  if (!value.is_string()) refuse(std::string("\"") + name + "\" is not a text");
  return value;
}

// Costs and counts, apart from the machine: of so many operations and merges on so many replicas.
HostTime time_of(const FrameworkHost& host, int replicas, double ops, double variables) {
  const int several = replicas > 1 ? replicas : 0;
  return {host.step_us + host.replica_us * several, host.op_us * ops + host.merge_us * several * variables};
}

}  // namespace

double FrameworkHost::Program::ops(int replicas) const { return replicas == 1 ? ops_alone : ops_each * replicas; }

double HostTime::step_us(double gpus_us) const { return fixed_us + std::max(dispatch_us, gpus_us); }

double FrameworkHost::modelled_us(const Measured& row) const {
  const HostTime time = time_of(*this, row.replicas, row.ops, row.variables);
  return time.fixed_us + time.dispatch_us;
}

FrameworkHost parse_framework_host(const std::string& json) {
  const nlohmann::json file = nlohmann::json::parse(json, nullptr, false);
  if (file.is_discarded()) refuse("it is not JSON");
  const nlohmann::json &costs = part(file, "costs"), &measured = part(file, "measured");
  FrameworkHost host;
  host.step_us = figure(costs, "step_us");
  host.op_us = figure(costs, "op_us");
  host.replica_us = figure(costs, "replica_us");
  host.merge_us = figure(costs, "merge_us");
  host.source = "TensorFlow " + text(measured, "tensorflow") + " on " + text(measured, "cpu") + ", " + text(measured, "date") + ", by " +
                text(measured, "made_by");
  for (const auto& [name, counts] : part(file, "programs").items())
    host.programs[name] = {figure(counts, "ops_alone"), figure(counts, "ops_each"), figure(counts, "variables")};
  for (const nlohmann::json& row : part(file, "rows")) {
    host.rows.push_back({text(row, "program"), static_cast<int>(figure(row, "replicas")), figure(row, "ops"), figure(row, "variables"),
                         figure(row, "us"), text(row, "kind") == "chain"});
  }
  return host;
}

const FrameworkHost& tensorflow_host() {
  static const FrameworkHost host = parse_framework_host(std::string(kTensorflowHost));
  return host;
}

HostTime host_time(const FrameworkHost& host, const std::string& program, int replicas, const Machine& machine) {
  const auto found = host.programs.find(program);
  if (found == host.programs.end())
    throw std::invalid_argument("the operations of \"" + program + "\" in TensorFlow were not counted (bench/peers/host_costs.py)");
  if (machine.host_speed <= 0)
    throw std::invalid_argument("machine \"" + machine.name + R"(" does not say how fast its host is ("host.speed"))");
  const double ops = found->second.ops(replicas), variables = found->second.variables;
  HostTime time = time_of(host, replicas, ops, variables);
  time.fixed_us /= machine.host_speed;
  const double launches = ops + (replicas > 1 ? replicas * variables : 0);
  time.dispatch_us = time.dispatch_us / machine.host_speed + machine.launch_us * launches;
  return time;
}

}  // namespace lockstep::clock
