#include "engine/train/trace_run.h"

#include <filesystem>
#include <nlohmann/json.hpp>

namespace lockstep {

std::string describe_run(const std::string& about, const std::string& title, TraceClock clock, const std::vector<std::string>& class_names,
                         const std::vector<std::string>& words, const std::vector<std::string>& samples) {
  nlohmann::json json = nlohmann::json::parse(about);
  json["title"] = title;
  json["clock"] = clock == TraceClock::host ? "wall" : "model";
  if (!class_names.empty()) json["class names"] = class_names;
  if (!words.empty()) {
    nlohmann::json& used = json["words"] = nlohmann::json::object();
    for (const std::string& sample : samples) {
      const nlohmann::json held = nlohmann::json::parse(sample);
      for (const nlohmann::json& row : held.value("tokens", nlohmann::json::array()))
        for (const std::size_t token : row.get<std::vector<std::size_t>>())
          if (token < words.size()) used[std::to_string(token)] = words[token];
    }
  }
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string path_for_worker(const std::string& path, int worker) {
  if (worker == 0) return path;
  std::filesystem::path name(path);
  const std::string end = name.extension().string();
  return name.replace_extension("worker" + std::to_string(worker) + end).string();
}

}  // namespace lockstep
