// `lockstep exec PROGRAM ARGUMENTS`: runs a program that nvcc made on the virtual GPU.
//
// The program is not changed. The loader finds our libraries with NVIDIA's names first (LD_LIBRARY_PATH); options become the environment
// that the virtual GPU reads.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "cli/exec_manifest.h"
#include "cli/machine_options.h"
#include "simulator/clock/machine_model.h"
#include "simulator/gpu/nvidia/image/elf_program.h"
#include "simulator/gpu/ptx/error.h"

namespace lockstep::cli {
namespace {

namespace fs = std::filesystem;

struct ExecOptions {
  MachineOptions machine;
  std::string check;
  bool manifest = false, counts = false;
};

std::string check_problem(const std::string& list) {
  const std::string checks = "," + list + ",";
  std::string known = checks;
  for (const std::string name : {"memory", "race", "deadlock", "all"}) {
    if (const std::size_t at = known.find("," + name + ","); at != std::string::npos) known.erase(at, name.size() + 1);
  }
  return known == "," ? "" : fmt::format("\"{}\" is not a list of checks: memory,race,deadlock or some of them, or all", list);
}

// As the shell finds it: a name without a slash is looked for in PATH.
fs::path find_program(const std::string& name) {
  const auto runnable = [](const fs::path& path) { return fs::is_regular_file(path) && access(path.c_str(), X_OK) == 0; };
  if (name.find('/') != std::string::npos) {
    if (!runnable(name)) throw Error(fmt::format("{} is not a program that can be started", name));
    return name;
  }
  const char* const search = std::getenv("PATH");
  const std::string folders = search != nullptr ? search : "";
  for (std::size_t begin = 0; begin <= folders.size();) {
    const std::size_t end = std::min(folders.find(':', begin), folders.size());
    const fs::path path = fs::path(folders.substr(begin, end - begin)) / name;
    if (runnable(path)) return path;
    begin = end + 1;
  }
  throw Error(fmt::format("there is no program {} in the folders of PATH", name));
}

int architecture_of(const std::string& machine) {
  std::string name = machine;
  if (name.empty()) {
    const char* const chosen = std::getenv("LOCKSTEP_SIM_MACHINE");
    name = chosen != nullptr ? chosen : "t4";
  }
  std::string why;
  const auto found = clock::find_machine(name, &why);
  if (!found) throw Error(fmt::format("the machine \"{}\" is not known: {}", name, why));
  return found->major * 10 + found->minor;
}

// What would only fail later, or start on a real GPU's libraries. A script has nothing to look at.
void look_at(const fs::path& path, int architecture) {
  const std::vector<std::byte> file = nvidia::bytes_of_file(path);
  if (!nvidia::is_elf(file)) return;
  nvidia::ElfProgram program;
  try {
    program = nvidia::read_elf_program(file);
  } catch (const ptx::Error& error) {
    throw Error(fmt::format("{}: {}", path.string(), error.what()));
  }
  if (!program.has_gpu_code) return;
  const auto wants = [&](const std::string& prefix) {
    return std::any_of(program.needed.begin(), program.needed.end(), [&](const std::string& name) { return name.rfind(prefix, 0) == 0; });
  };
  if (!wants("libcudart.so")) {
    throw Error(fmt::format("{} has CUDA's runtime inside, so it can't run on the virtual GPU. Fix: link it with nvcc -cudart shared",
                            path.string()));
  }
  if (!wants("libcudart.so.13")) {
    throw Error(
        fmt::format("{} is made for another CUDA than 13, whose runtime is libcudart.so.13. Fix: compile it with nvcc 13", path.string()));
  }
  // A program without kernels of its own has an image that is empty but for what the linker adds.
  const bool any_ptx = std::any_of(program.entries.begin(), program.entries.end(), [](const nvidia::FatEntry& one) { return one.ptx; });
  if (nvidia::best_ptx(program.entries, architecture) != nullptr) return;
  throw Error(
      fmt::format("{} has {}, and this device runs PTX up to compute_{}. Fix: compile it with nvcc -gencode "
                  "arch=compute_75,code=compute_75{}",
                  path.string(), nvidia::describe(program.entries), architecture, any_ptx ? ", or choose a newer --machine" : ""));
}

fs::path library_folder() {
  const fs::path folder = fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "lib" / "lockstep";
  if (!fs::exists(folder / "libcudart.so.13")) {
    throw Error(fmt::format("there is no {}. Fix: build the target nvidia_libraries", (folder / "libcudart.so.13").string()));
  }
  return folder;
}

int exec(const ExecOptions& options, const std::vector<std::string>& words) {
  if (options.manifest) return print_manifest(library_folder());
  if (words.empty()) throw UsageError("a program is missing, such as: lockstep exec ./program");
  if (words.front().rfind('-', 0) == 0)
    throw UsageError(fmt::format("'{}' is not an option of this command (see lockstep exec --help)", words.front()));
  const fs::path program = find_program(words.front());
  look_at(program, architecture_of(options.machine.machine));
  use_machine(options.machine);
  if (!options.check.empty()) setenv("LOCKSTEP_SIM_CHECK", options.check == "all" ? "1" : options.check.c_str(), 1);
  if (options.counts) setenv("LOCKSTEP_SIM_COUNTS", "1", 1);
  const fs::path folder = library_folder();
  const char* const before = std::getenv("LD_LIBRARY_PATH");
  const std::string search = before != nullptr && *before != '\0' ? folder.string() + ":" + before : folder.string();
  setenv("LD_LIBRARY_PATH", search.c_str(), 1);
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execv(program.c_str(), arguments.data());
  throw Error(fmt::format("{} can't be started: {}", program.string(), std::strerror(errno)));
}

}  // namespace

Command add_exec(CLI::App& app) {
  CLI::App* command = app.add_subcommand("exec", "Run a program that nvcc made on the virtual GPU");
  auto options = std::make_shared<ExecOptions>();
  add_machine_options(*command, options->machine, true);
  command->add_option("--check", options->check, "memory, race, deadlock (some of them, with commas) or all: stop at the first mistake")
      ->check(CLI::Validator(check_problem, ""));
  command->add_flag("--counts", options->counts, "At the end, print what the warps of each kernel did, by line of its source");
  command->add_flag("--manifest", options->manifest, "List the functions of NVIDIA's libraries: written, partly, refused");
  command->prefix_command();  // options end at the program's name: what follows is its own
  command->footer(
      "The program is compiled with -cudart shared and carries PTX, as nvcc -arch=sm_75 makes it.\n\nExamples:\n"
      "  nvcc -cudart shared -arch=sm_75 -lineinfo program.cu -o program\n  lockstep exec ./program\n"
      "  lockstep exec --machine 4xt4 --check all ./program 1000");
  return {command, [command, options] { return exec(*options, command->remaining()); }};
}

}  // namespace lockstep::cli
