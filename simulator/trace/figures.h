// Figures made from spans: where the time of a step went, what it waited for, what was slow. The page, the terminal and the tests all take
// them from here.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "simulator/trace/span.h"

namespace lockstep {

// A stretch of the critical path: the chain of work of which each piece waited for the one before, from the beginning of the step to its
// end. Making anything else faster would not have ended the step earlier.
struct CriticalPiece {
  std::string what;  // the phase's name, "all-reduce bucket 1", or "host": nothing ran on the GPU that had to be waited for
  int phase = -1;    // -1: host
  int replica = 0;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

struct ReplicaFigures {
  int replica = 0;
  std::array<std::int64_t, 6> phase_ns{};
  std::int64_t hidden_ns = 0;   // all-reduce behind this replica's local gradients
  std::int64_t exposed_ns = 0;  // all-reduce while it was not computing gradients
  std::int64_t busy_ns = 0;     // of the compute stream: shard, local gradients, update
  std::int64_t idle_ns = 0;     // the rest of the step, in three parts:
  std::int64_t idle_all_reduce_ns = 0;
  std::int64_t idle_barrier_ns = 0;  // others had not arrived yet, or were compared
  std::int64_t idle_host_ns = 0;     // the rest
};

struct StepFigures {
  std::int64_t step = 0;
  std::int64_t begin_ns = 0, end_ns = 0;
  bool inspected = false;  // norms, checksums and partial sums were taken: it took longer for that
  std::vector<ReplicaFigures> replicas;
  std::vector<CriticalPiece> critical;

  std::int64_t ns() const { return end_ns - begin_ns; }
};

// Who made the others wait, and how much of that can be seen.
struct Straggler {
  bool found = false;
  int replica = -1;          // a replica that computes longer,
  int from = -1, to = -1;    // or a link that sends slower
  double times_slower = 1;   // than the median of the others
  std::int64_t seen_in = 0;  // steps
  std::string sentence() const;
};

struct TraceFigures {
  std::vector<StepFigures> steps;
  int replicas = 0;
  std::vector<std::int64_t> counted;  // the steps that the means are over: where there are others, not those looked into, nor the first
  double step_ms = 0;                 // means over `counted` and replicas
  std::array<double, 6> phase_ms{};
  double hidden_ms = 0, exposed_ms = 0, busy_ms = 0, idle_ms = 0, idle_all_reduce_ms = 0, idle_barrier_ms = 0, idle_host_ms = 0;
  std::vector<std::pair<std::string, double>> critical_ms;  // mean by kind of piece, largest first
  Straggler slow_replica, slow_link;
};

// Steps are the ones that have an update; spans outside them (the first replicate) are left out.
TraceFigures trace_figures(const std::vector<Span>& spans);
std::string figures_json(const TraceFigures& figures);

}  // namespace lockstep
