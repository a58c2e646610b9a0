#include "notebooks/kernel/headers.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>

namespace lockstep::kernel {

std::optional<UserHeaders::Header> UserHeaders::take(const std::string& directive, const std::string& by) {
  static const std::regex include(R"re(#[ \t]*include[ \t]*"([^"]+)"[^\n]*)re");
  static const std::regex once(R"re((^|\n)[ \t]*#[ \t]*pragma[ \t]+once)re");
  static const std::regex guard(R"re(^(?:[ \t]*(?://[^\n]*)?\n)*[ \t]*#[ \t]*ifndef[ \t]+(\w+)[^\n]*\n[ \t]*#[ \t]*define[ \t]+(\w+))re");
  std::smatch match;
  if (!std::regex_match(directive, match, include)) return std::nullopt;
  const std::string name = match[1];
  std::vector<std::filesystem::path> places{std::filesystem::path(by).parent_path() / name, name};
  for (const std::string& folder : folders_) places.push_back(std::filesystem::path(folder) / name);
  for (const std::filesystem::path& place : places) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(place, error)) continue;
    std::ifstream file(place);
    std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    const std::string path = std::filesystem::absolute(place, error).lexically_normal().string();
    Header header{path, text, ""};
    std::smatch found;
    const bool guarded = std::regex_search(text, found, guard) && found[1] == found[2];
    if (guarded) header.guard = found[1];
    const bool is_once = std::regex_search(text, found, once);
    if (is_once) header.text = std::regex_replace(text, once, "$1");
    const auto [before, first] = read_.try_emplace(path, "");
    if (!first && before->second == text && (guarded || is_once)) return Header{path, "", ""};
    before->second = std::move(text);
    return header;
  }
  return std::nullopt;
}

}  // namespace lockstep::kernel
