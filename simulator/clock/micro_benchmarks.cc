#include "simulator/clock/micro_benchmarks.h"

#include <stdexcept>

#include "embedded_machines.h"
#include "simulator/clock/kernel_launch.h"
#include "simulator/clock/published_rows.h"

namespace lockstep::clock {

namespace {

constexpr double kTurns = 1000;  // of the loop that is timed

std::size_t issue_named(const std::string& name) {
  for (std::size_t issue = 0; issue < kIssueNames.size(); ++issue) {
    if (name == kIssueNames[issue]) return issue;
  }
  throw std::runtime_error("gpu_microbenchmarks.csv: no kind of instruction: " + name);
}

double cycles_a_turn(const Machine& machine, const WarpWork& work) {
  return launch_time(machine, {.blocks = 1, .threads = 32}, work).body * 1e-3 * clock_ghz(machine) / kTurns;
}

// Each lane waits for one load before it asks for the next; addresses are side by side and never seen before.
double bandwidth(const Machine& machine, double lane_bytes) {
  const Launch launch{.blocks = 64, .threads = 256};
  const auto memory = static_cast<std::size_t>(Issue::memory);
  WarpWork work;
  work.instructions[memory] = work.chain[memory] = kTurns;
  work.sectors = kTurns * lane_bytes;  // 32 lanes, sectors of 32 bytes
  const double bytes = kTurns * lane_bytes * static_cast<double>(launch.blocks) * launch.threads;
  return bytes * 1e3 / launch_time(machine, launch, work).body;
}

}  // namespace

const std::vector<MicroBenchmark>& micro_benchmarks() {
  static const auto rows =
      published_rows<MicroBenchmark>(kMicroBenchmarks, "gpu_microbenchmarks.csv", [](std::istream& cells, MicroBenchmark& row) {
        char comma = 0;
        std::getline(cells, row.machine, ',');
        std::getline(cells, row.measure, ',');
        std::getline(cells, row.of, ',');
        cells >> row.published >> comma;
        std::getline(cells, row.unit, ',');
        cells >> row.fitted >> comma;
        std::getline(cells, row.source);
        return row.published > 0;
      });
  return rows;
}

double modelled(const MicroBenchmark& row) {
  const Machine machine = *find_machine(row.machine);
  if (row.unit == "GB/s") return bandwidth(machine, std::stod(row.of));
  WarpWork work;
  if (row.measure == "issue interval") {
    work.instructions[issue_named(row.of)] = kTurns;
  } else if (row.of == "shared") {
    work.chain_shared = kTurns;
  } else {
    work.l1_hits = row.of == "l1" ? 1 : 0;
    work.l2_hits = row.of == "l2" ? 1 : 0;
    work.chain[row.measure == "load latency" ? static_cast<std::size_t>(Issue::memory) : issue_named(row.of)] = kTurns;
  }
  return cycles_a_turn(machine, work);
}

}  // namespace lockstep::clock
