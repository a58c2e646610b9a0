// Published micro-benchmarks of single multiprocessors and small launches (gpu_microbenchmarks.csv), which launch_time is held against.
// Each answer is the time of a launch, not a figure read from the machine's file.
#pragma once

#include <string>
#include <vector>

namespace lockstep::clock {

struct MicroBenchmark {
  std::string machine;
  std::string measure;  // "load latency", "latency", "issue interval" or "bandwidth of 64 blocks x 256"
  std::string of;       // a kind of instruction, a kind of memory, or the bytes that a lane loads
  double published = 0;
  std::string unit;
  bool fitted = false;  // the machine's figure was taken from this row
  std::string source;
};
const std::vector<MicroBenchmark>& micro_benchmarks();
double modelled(const MicroBenchmark& row);

}  // namespace lockstep::clock
