// How the virtual GPU is set up, read from the environment at first use:
//
//   LOCKSTEP_SIM_MACHINE  t4 (default), 4xt4, a100x8, h100x8
//   LOCKSTEP_SIM_GPUS     number of GPUs, instead of the machine's
//   LOCKSTEP_SIM_WORKERS  worker threads (default: hardware cores)
//   LOCKSTEP_SIM_SEED     n > 0: a seeded schedule by one worker; see control.h
//   LOCKSTEP_SIM_KERNELS  fast (default) or faithful; see context.h
//   LOCKSTEP_SIM_CHECK    1: device memory is out of reach of host code, and new memory holds NaNs
#pragma once

#include <cstdint>
#include <string>

#include "control.h"
#include "machine.h"

namespace lockstep::sim {

struct Config {
  Machine machine;
  int workers = 1;
  std::uint64_t seed = 0;
  KernelMode kernels = KernelMode::fast;
  bool check = false;
  std::string problem;  // what in the environment cannot be understood; then every CUDA call fails
};

Config read_config();
const Config& config();

}  // namespace lockstep::sim
