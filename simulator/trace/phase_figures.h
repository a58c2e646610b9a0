// Figures made from spans: how long each phase took, and how much of the communication was hidden behind computing.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "trace.h"

namespace lockstep {

struct PhaseFigures {
  std::int64_t steps = 0;
  int replicas = 0;
  double step_ms = 0;                   // mean over steps and replicas, from the first begin to the last end
  std::array<double, 6> phase_ms{};     // mean over steps and replicas
  double exposed_all_reduce_ms = 0;     // the part of all-reduce during which its replica was not computing gradients
  std::array<std::int64_t, 6> spans{};  // how many there were
};

// Steps are the ones that have an update; spans outside them (the first replicate) are left out.
PhaseFigures phase_figures(const std::vector<Span>& spans);

}  // namespace lockstep
