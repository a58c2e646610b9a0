// The machines we know, from the vendor's data sheets.
#include "machine.h"

#include <array>

namespace lockstep::sim {

namespace {

constexpr std::size_t kKiB = 1024;
constexpr std::size_t kGiB = kKiB * kKiB * kKiB;

Machine t4(std::string name, int gpus) {
  return {.name = std::move(name),
          .gpu_name = "Virtual T4",
          .gpus = gpus,
          .memory_bytes = 15 * kGiB,
          .major = 7,
          .minor = 5,
          .multiprocessors = 40,
          .threads_per_multiprocessor = 1024,
          .shared_per_multiprocessor = 64 * kKiB,
          .shared_optin = 64 * kKiB,
          .l2_bytes = 4 << 20,
          .memory_bus_bits = 256};
}

Machine a100(std::string name, int gpus) {
  return {.name = std::move(name),
          .gpu_name = "Virtual A100",
          .gpus = gpus,
          .memory_bytes = 40 * kGiB,
          .major = 8,
          .minor = 0,
          .multiprocessors = 108,
          .threads_per_multiprocessor = 2048,
          .shared_per_multiprocessor = 164 * kKiB,
          .shared_optin = 163 * kKiB,
          .l2_bytes = 40 << 20,
          .memory_bus_bits = 5120};
}

Machine h100(std::string name, int gpus) {
  return {.name = std::move(name),
          .gpu_name = "Virtual H100",
          .gpus = gpus,
          .memory_bytes = 80 * kGiB,
          .major = 9,
          .minor = 0,
          .multiprocessors = 132,
          .threads_per_multiprocessor = 2048,
          .shared_per_multiprocessor = 228 * kKiB,
          .shared_optin = 227 * kKiB,
          .l2_bytes = 50 << 20,
          .memory_bus_bits = 5120};
}

std::array<Machine, 4> machines() { return {t4("t4", 1), t4("4xt4", 4), a100("a100x8", 8), h100("h100x8", 8)}; }

}  // namespace

std::optional<Machine> find_machine(const std::string& name) {
  for (Machine& machine : machines()) {
    if (machine.name == name) return std::move(machine);
  }
  return std::nullopt;
}

std::string machine_names() {
  std::string names;
  for (const Machine& machine : machines()) names += (names.empty() ? "" : ", ") + machine.name;
  return names;
}

}  // namespace lockstep::sim
