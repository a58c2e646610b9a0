#include "engine/nvrtc/nvrtc_places.h"

#include <glob.h>

#include <cstdlib>
#include <filesystem>

namespace lockstep {

namespace {

constexpr int kNewestNvrtc = 13, kOldestNvrtc = 12;

std::vector<std::string> file_names(int preferred) {
  std::vector<std::string> names;
  for (int major = kNewestNvrtc; major >= kOldestNvrtc; --major) {
    const std::string name = "libnvrtc.so." + std::to_string(major);
    names.insert(major == preferred ? names.begin() : names.end(), name);
  }
  return names;
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::vector<std::string> matching(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> paths;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return paths;
}

// Toolkits, then Python's wheels: site-packages/nvidia/cuda_nvrtc/lib, or nvidia/cu13/lib.
std::vector<std::string> folders() {
  std::vector<std::string> all;
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const std::string root = variable(name); !root.empty()) all.push_back(root + "/lib64");
  }
  all.insert(all.end(), {"/usr/local/cuda/lib64", "/opt/cuda/lib64"});
  std::vector<std::string> pythons;
  if (const std::string root = variable("VIRTUAL_ENV"); !root.empty()) pythons.push_back(root + "/lib/python3*/site-packages");
  if (const std::string home = variable("HOME"); !home.empty()) pythons.push_back(home + "/.local/lib/python3*/site-packages");
  pythons.insert(pythons.end(), {"/usr/local/lib/python3*/*-packages", "/usr/lib/python3*/*-packages"});
  for (const std::string& python : pythons) {
    for (const std::string& folder : matching(python + "/nvidia/*/lib")) all.push_back(folder);
  }
  return all;
}

}  // namespace

std::string nvrtc_asked_for() { return variable("LOCKSTEP_NVRTC"); }

std::vector<std::string> nvrtc_places(int preferred) {
  const std::vector<std::string> names = file_names(preferred);
  if (const std::string asked = nvrtc_asked_for(); !asked.empty()) {
    std::error_code none;
    if (!std::filesystem::is_directory(asked, none)) return {asked};
    std::vector<std::string> files;
    for (const std::string& name : names) files.push_back(std::filesystem::path(asked) / name);
    return files;
  }
  std::vector<std::string> files = names;
  for (const std::string& folder : folders()) {
    for (const std::string& name : names) files.push_back(std::filesystem::path(folder) / name);
  }
  return files;
}

}  // namespace lockstep
