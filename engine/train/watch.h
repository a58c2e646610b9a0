// What callbacks share that watch one of training's values: when it counts as better, and what to say when it is not there.
#pragma once

#include <iostream>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "lockstep/callbacks.h"
#include "lockstep/error.h"

namespace lockstep {

// A value to watch, and when it counts as better.
struct Watch {
  explicit Watch(std::string name) : monitor(std::move(name)) {}

  std::string monitor;
  double min_delta = 0;
  std::string mode = "auto";
  bool warned = false;

  void set_mode(const std::string& which) {
    if (which != "auto" && which != "min" && which != "max") throw Error("mode is \"auto\", \"min\" or \"max\", not \"" + which + "\"");
    mode = which;
  }
  bool upwards() const {
    if (mode != "auto") return mode == "max";
    return monitor.ends_with("accuracy") || monitor.ends_with("acc") || monitor.ends_with("auc");
  }
  double worst() const { return upwards() ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity(); }
  bool is_better(double value, double than) const { return upwards() ? value - min_delta > than : value + min_delta < than; }
  // Nothing when the epoch has no such value; that is said once.
  std::optional<double> value(const TrainingEvent& event, const char* who) {
    const auto found = event.logs->find(monitor);
    if (found != event.logs->end()) return found->second;
    if (!warned) {
      std::string known;
      for (const auto& [name, ignored] : *event.logs) known += (known.empty() ? "" : ", ") + name;
      std::cerr << "Warning: " << who << " watches " << monitor << ", which is not there; there are: " << known << "\n";
    }
    warned = true;
    return std::nullopt;
  }
};

}  // namespace lockstep
