// The libraries' own symbol tables say what is written: functions that refuse are weak (simulator/gpu/nvidia/refused.h). Lists beside the
// libraries name those that are written in part.
#include "cli/exec_manifest.h"

#include <fmt/format.h>

#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "lockstep/error.h"
#include "simulator/gpu/nvidia/image/elf_program.h"

namespace lockstep::cli {
namespace {

struct Listed {
  std::string name, partly;
};

// Lines of "function" or "function partly: what is missing".
std::vector<Listed> read_list(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<Listed> all;
  for (std::string line; std::getline(file, line);) {
    const std::size_t space = line.find(' ');
    const std::string mark = " partly: ";
    const std::size_t partly = line.find(mark);
    all.push_back({line.substr(0, space), partly == std::string::npos ? "" : line.substr(partly + mark.size())});
  }
  if (all.empty()) throw Error(fmt::format("{} can't be read", path.string()));
  return all;
}

}  // namespace

int print_manifest(const std::filesystem::path& folder) {
  for (const auto* const library : {"libcudart.so.13", "libnccl.so.2", "libcublasLt.so.13", "libcublas.so.13", "libcudnn.so.9"}) {
    const std::filesystem::path path = folder / library;
    if (!std::filesystem::exists(path)) continue;
    const std::vector<std::byte> file = nvidia::bytes_of_file(path);
    const std::set<std::string> weak = nvidia::weak_functions(file);
    std::map<std::string, std::vector<std::string>> groups;
    for (const Listed& one : read_list(folder / (std::string(library) + ".txt"))) {
      if (one.name.rfind("pnccl", 0) == 0) continue;  // a second name of each function
      const std::string group = weak.count(one.name) != 0 ? "refused" : one.partly.empty() ? "written" : "partly";
      groups[group].push_back(group == "partly" ? one.name + ": " + one.partly : one.name);
    }
    fmt::print("{}: {} written, {} partly, {} refused\n", library, groups["written"].size(), groups["partly"].size(),
               groups["refused"].size());
    for (const std::string group : {"written", "partly", "refused"}) {
      for (const std::string& name : groups[group]) fmt::print("  {:<8} {}\n", group, name);
    }
  }
  return 0;
}

}  // namespace lockstep::cli
