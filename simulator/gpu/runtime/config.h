// How the virtual GPU is set up, read from the environment at first use:
//
//   LOCKSTEP_SIM_MACHINE  t4 (default), 4xt4, a100x8, h100x8
//   LOCKSTEP_SIM_GPUS     number of GPUs, instead of the machine's
//   LOCKSTEP_SIM_WORKERS  worker threads (default: hardware cores)
//   LOCKSTEP_SIM_SEED     n > 0: a seeded schedule by one worker; see control.h
//   LOCKSTEP_SIM_KERNELS  fast (default) or faithful, see context.h; ptx (or ptx:FOLDER, with the PTX files): see device_kernel.h
//   LOCKSTEP_SIM_CHECK    memory,race,deadlock: some of them, or 1 for all; see simulator/gpu/check
//   LOCKSTEP_SIM_CHECK_GRACE  milliseconds without progress before a deadlock is called one (default 5000)
//   LOCKSTEP_SIM_FAULT    calls that fail or come late; see faults.h
#pragma once

#include <cstdint>
#include <string>

#include "simulator/clock/machine_model.h"
#include "simulator/gpu/runtime/control.h"

namespace lockstep::sim {

struct Checks {
  bool memory = false, race = false, deadlock = false;
  explicit operator bool() const { return memory || race || deadlock; }
};

// Whether device code says what it touches; then its blocks run one after the other.
inline bool watches_accesses(const Checks& checks) { return checks.memory || checks.race; }

struct Config {
  clock::Machine machine;
  int workers = 1;
  std::uint64_t seed = 0;
  KernelMode kernels = KernelMode::fast;
  std::string ptx_folder;  // empty: the files that were built with the program
  Checks check;
  int check_grace_ms = 5000;
  std::string faults;
  std::string problem;  // what in the environment cannot be understood; then every CUDA call fails
};

Config read_config();
const Config& config();

}  // namespace lockstep::sim
