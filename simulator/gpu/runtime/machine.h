// Machine models: how many GPUs there are and what each can do.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace lockstep::sim {

struct Machine {
  std::string name;      // as LOCKSTEP_SIM_MACHINE names it
  std::string gpu_name;  // as cudaGetDeviceProperties names it
  int gpus = 1;
  std::size_t memory_bytes = 0;  // of each GPU
  int major = 0, minor = 0;      // compute capability
  int multiprocessors = 0;
  int threads_per_multiprocessor = 0;
  std::size_t shared_per_multiprocessor = 0;
  std::size_t shared_optin = 0;
  int l2_bytes = 0;
  int memory_bus_bits = 0;
  bool peer_access = true;  // between any two GPUs
};

std::optional<Machine> find_machine(const std::string& name);
std::string machine_names();  // for an error message

}  // namespace lockstep::sim
