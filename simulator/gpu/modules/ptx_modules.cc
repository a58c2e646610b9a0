#include "simulator/gpu/modules/ptx_modules.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "simulator/gpu/ptx/error.h"

namespace lockstep::sim {

PtxModules::PtxModules(const std::string& folder, ptx::Counts* counts) {
  std::error_code problem;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder, problem)) {
    if (entry.path().extension() == ".ptx") files.push_back(entry.path());
  }
  if (files.empty()) throw ptx::Error("there are no .ptx files in the folder '" + folder + "'");
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    try {
      add(text.str(), counts);
    } catch (const ptx::Error& error) {
      throw ptx::Error(file.string() + ": " + error.what());
    }
  }
}

void PtxModules::add(const std::string& text, ptx::Counts* counts) {
  const auto module = std::make_shared<const ptx::Module>(text);
  for (const std::string& name : module->kernels()) kernels_.insert_or_assign(name, PtxKernel::make(module, name, counts));
}

std::shared_ptr<const DeviceKernel> PtxModules::find(const std::string& mangled) const {
  const auto found = kernels_.find(mangled);
  return found == kernels_.end() ? nullptr : found->second;
}

std::vector<std::string> PtxModules::names() const {
  std::vector<std::string> all;
  for (const auto& [name, kernel] : kernels_) all.push_back(name);
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace lockstep::sim
