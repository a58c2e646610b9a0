#include "cli/lesson/lesson_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "lockstep/error.h"

namespace lockstep::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

std::vector<std::string> texts(const Json& json, const char* key) { return json.at(key).get<std::vector<std::string>>(); }

}  // namespace

std::string read_text(const fs::path& path) {
  std::ifstream file(path);
  if (!file) throw Error("can't read " + path.string());
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::size_t hash_of(const fs::path& file) { return std::hash<std::string>()(read_text(file)); }

std::string shown(const fs::path& path) {
  std::error_code none;
  const fs::path near = fs::relative(path, fs::current_path(none), none);
  return near.empty() || near.string().rfind("..", 0) == 0 ? path.string() : near.string();
}

LessonManifest read_lesson_manifest() {
  const fs::path path = fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "lib" / "lessons.json";
  if (!fs::exists(path))
    throw Error(
        "there are no lessons beside this program. They run on the virtual GPU. Fix: build them with `./lockstep lesson`, or with "
        "`ninja lessons` in the build folder of the preset sim.");
  try {
    const Json json = Json::parse(read_text(path));
    LessonManifest manifest;
    manifest.folder = path.parent_path();
    const auto from_here = [&](const std::string& name) { return (manifest.folder / name).lexically_normal(); };
    manifest.lessons = from_here(json.at("lessons"));
    manifest.cache = from_here(json.at("cache"));
    manifest.compiler = json.at("compiler");
    manifest.flags = texts(json, "flags");
    manifest.libraries = texts(json, "libraries");
    for (const std::string& name : texts(json, "include")) manifest.include.push_back(from_here(name));
    for (const std::string& name : texts(json, "link")) manifest.link.push_back(from_here(name).string());
    if (manifest.compiler.front() == '/' && !fs::exists(manifest.compiler)) manifest.compiler = "c++";
    return manifest;
  } catch (const Json::exception& error) {
    throw Error(path.string() + " is damaged: " + error.what());
  }
}

std::vector<Lesson> list_lessons(const LessonManifest& manifest) {
  static const std::regex kName(R"((\d\d)-[a-z0-9-]+)");
  static const std::regex kTitle(R"(# Lesson \d+: ([^\n]+))");
  std::vector<Lesson> lessons;
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(manifest.lessons, none)) {
    const std::string name = entry.path().filename().string();
    std::smatch found;
    if (!std::regex_match(name, found, kName) || !fs::exists(entry.path() / "lesson_test.cc")) continue;
    Lesson lesson{std::stoi(found[1]), name, name.substr(3), entry.path()};
    const std::string page = read_text(entry.path() / "lesson.md");
    if (std::regex_search(page, found, kTitle)) lesson.title = found[1];
    lessons.push_back(std::move(lesson));
  }
  std::sort(lessons.begin(), lessons.end(), [](const Lesson& a, const Lesson& b) { return a.number < b.number; });
  if (lessons.empty()) throw Error("no lessons in " + manifest.lessons.string());
  return lessons;
}

// The page has a heading for each part, and numbered questions below it.
std::vector<std::string> hints_for(const Lesson& lesson, const std::string& part) {
  std::istringstream page(read_text(lesson.folder / "hints.md"));
  std::vector<std::string> hints;
  bool here = false;
  for (std::string line; std::getline(page, line);) {
    if (line.rfind("## ", 0) == 0) {
      here = line.substr(3) == part;
    } else if (here && !line.empty()) {
      if (std::isdigit(static_cast<unsigned char>(line[0])))
        hints.push_back(line.substr(line.find(' ') + 1));
      else if (!hints.empty())
        hints.back() += "\n" + line.substr(std::min(line.find_first_not_of(' '), std::size_t{3}));
    }
  }
  return hints;
}

// Headers of a lesson that uses others say `#ifndef LESSON_4` for lesson 4.
std::vector<UsedLesson> lessons_used_by(const Lesson& lesson, const std::vector<Lesson>& lessons, LessonWork& work) {
  const fs::path phases = lesson.folder / "phases.h";
  if (!fs::exists(phases)) return {};
  const std::string text = read_text(phases);
  std::vector<UsedLesson> used;
  for (const Lesson& other : lessons) {
    if (text.find(fmt::format("#ifndef LESSON_{}\n", other.number)) == std::string::npos) continue;
    const fs::path own = work.file_of(other);
    const LessonProgress& progress = work.progress(other);
    std::string why;
    if (!progress.done || !fs::exists(own))
      why = fmt::format("lesson {} is open", other.number);
    else if (progress.text != 0 && progress.text != hash_of(own))
      why = "your file has changed since it passed";
    used.push_back({other, why.empty() ? own : other.folder / "solution.h", why});
  }
  return used;
}

LessonWork::LessonWork(fs::path folder) : folder_(std::move(folder)) {
  const fs::path path = folder_ / "progress.json";
  if (!fs::exists(path)) return;
  const Json json = Json::parse(read_text(path), nullptr, false);
  if (!json.is_object()) return;  // damaged: start without progress; the learner's files are not touched
  for (const auto& [name, entry] : json.items()) {
    if (!fs::exists(folder_ / (name + ".h"))) continue;
    LessonProgress progress;
    progress.passed = entry.value("passed", 0);
    progress.tests = entry.value("tests", 0);
    progress.done = entry.value("done", false);
    progress.text = entry.value("text", std::size_t{0});
    progress.part = entry.value("part", std::string());
    progress.asked = entry.value("asked", 0);
    progress.answered = entry.value("answered", false);
    progress.predicted = entry.value("predicted", std::vector<std::string>());
    progress.hints = entry.value("hints", std::map<std::string, int>());
    progress_[name] = progress;
  }
}

void LessonWork::save() const {
  std::error_code none;
  fs::create_directories(folder_, none);
  Json json = Json::object();
  for (const auto& [name, progress] : progress_) {
    json[name] = {{"passed", progress.passed}, {"tests", progress.tests},         {"done", progress.done},
                  {"text", progress.text},     {"part", progress.part},           {"asked", progress.asked},
                  {"hints", progress.hints},   {"predicted", progress.predicted}, {"answered", progress.answered}};
  }
  std::ofstream file(folder_ / "progress.json");
  file << json.dump(2) << "\n";
  if (!file.flush()) throw Error("can't write to " + folder_.string() + ". Fix: choose another folder with --work");
}

}  // namespace lockstep::cli
