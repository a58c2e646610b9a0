#include "simulator/gpu/runtime/config.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <thread>

#include "simulator/gpu/runtime/faults.h"

namespace lockstep::sim {

namespace {

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

// A whole number between low and high; otherwise `problem` says what is wrong.
std::optional<std::uint64_t> number(const char* name, std::uint64_t low, std::uint64_t high, std::string& problem) {
  const auto text = environment(name);
  if (!text) return std::nullopt;
  char* end = nullptr;
  errno = 0;
  const std::uint64_t value = std::strtoull(text->c_str(), &end, 10);
  if (errno != 0 || *end != '\0' || text->front() == '-' || value < low || value > high) {
    problem =
        std::string(name) + "=" + *text + ": a whole number from " + std::to_string(low) + " to " + std::to_string(high) + " is needed";
    return std::nullopt;
  }
  return value;
}

// Words between commas. 1 stands for all of them, 0 for none.
Checks read_checks(std::string& problem) {
  const std::string text = environment("LOCKSTEP_SIM_CHECK").value_or("0");
  if (text == "0") return {};
  if (text == "1") return {true, true, true};
  Checks checks;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (word == "memory") {
      checks.memory = true;
    } else if (word == "race") {
      checks.race = true;
    } else if (word == "deadlock") {
      checks.deadlock = true;
    } else {
      problem = "LOCKSTEP_SIM_CHECK=" + text + ": some of memory,race,deadlock (or 1 for all, 0 for none) is needed";
    }
    begin = end + 1;
  }
  return checks;
}

}  // namespace

Config read_config() {
  Config config;
  const std::string name = environment("LOCKSTEP_SIM_MACHINE").value_or("t4");
  std::string why;
  if (auto machine = clock::find_machine(name, &why)) {
    config.machine = *machine;
  } else {
    config.problem = "LOCKSTEP_SIM_MACHINE=" + name + ": " + why;
  }
  if (const auto nodes = number("LOCKSTEP_SIM_NODES", 1, 64, config.problem)) config.machine.gpus *= static_cast<int>(*nodes);
  if (const auto gpus = number("LOCKSTEP_SIM_GPUS", 0, 64, config.problem)) config.machine.gpus = static_cast<int>(*gpus);

  const auto cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  config.workers = static_cast<int>(number("LOCKSTEP_SIM_WORKERS", 1, 1024, config.problem).value_or(static_cast<std::uint64_t>(cores)));
  config.seed = number("LOCKSTEP_SIM_SEED", 0, ~std::uint64_t{0}, config.problem).value_or(0);
  config.check = read_checks(config.problem);
  config.check_grace_ms = static_cast<int>(number("LOCKSTEP_SIM_CHECK_GRACE", 1, 3600000, config.problem).value_or(5000));

  const std::string kernels = environment("LOCKSTEP_SIM_KERNELS").value_or("fast");
  if (kernels == "faithful") {
    config.kernels = KernelMode::faithful;
  } else if (kernels == "ptx" || kernels.rfind("ptx:", 0) == 0) {
    config.kernels = KernelMode::ptx;
    if (kernels.size() > 4) config.ptx_folder = kernels.substr(4);
  } else if (kernels != "fast") {
    config.problem = "LOCKSTEP_SIM_KERNELS=" + kernels + ": fast, faithful or ptx is needed";
  }
  if (const std::string clock = environment("LOCKSTEP_SIM_CLOCK").value_or("wall"); clock != "model" && clock != "wall") {
    config.problem = "LOCKSTEP_SIM_CLOCK=" + clock + ": wall or model is needed";
  }
  if (number("LOCKSTEP_SIM_NO_MATH", 0, 1, config.problem).value_or(0) == 1 && config.check) {
    config.problem = "LOCKSTEP_SIM_NO_MATH=1: there is nothing to check (LOCKSTEP_SIM_CHECK) where nothing is computed";
  }
  if (const auto faults = environment("LOCKSTEP_SIM_FAULT")) {
    config.faults = *faults;
    std::string problem;
    parse_faults(*faults, problem);
    if (!problem.empty()) config.problem = "LOCKSTEP_SIM_FAULT: " + problem;
  }
  return config;
}

const Config& config() {
  static const Config config = read_config();
  return config;
}

}  // namespace lockstep::sim
