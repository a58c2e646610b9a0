#include "engine/data/places.h"

#include <cstdlib>

namespace lockstep {

namespace fs = std::filesystem;

namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

std::vector<fs::path> data_places(const std::string& directory, const std::string& name) {
  std::vector<fs::path> folders;
  const auto with_subfolder = [&](const fs::path& folder) {
    folders.push_back(folder);
    folders.push_back(folder / name);
  };
  if (!directory.empty()) with_subfolder(directory);
  if (const std::string data = environment("LOCKSTEP_DATA"); !data.empty()) with_subfolder(data);
  with_subfolder("data");
  if (const std::string home = environment("HOME"); !home.empty()) with_subfolder(fs::path(home) / ".keras" / "datasets");
  return folders;
}

fs::path download_folder(const std::string& name) {
  const fs::path xdg = environment("XDG_CACHE_HOME");
  if (xdg.is_absolute()) return xdg / "lockstep" / name;  // a relative one is to be ignored, says the XDG specification
  const fs::path home = environment("HOME");
  return home.empty() ? fs::path() : home / ".cache" / "lockstep" / name;
}

bool is_offline() {
  const std::string offline = environment("LOCKSTEP_OFFLINE");
  return !offline.empty() && offline != "0";
}

}  // namespace lockstep
