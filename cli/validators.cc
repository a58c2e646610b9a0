#include "cli/validators.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "lockstep/error.h"
#include "lockstep/flipped_bit.h"

namespace lockstep::cli {
namespace {

namespace fs = std::filesystem;

// Damerau-Levenshtein distance in its restricted form: no part of a word is edited twice.
int distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<int>> cost(a.size() + 1, std::vector<int>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = static_cast<int>(i + j);
        continue;
      }
      const int same = a[i - 1] == b[j - 1] ? 0 : 1;
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + same});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  }
  return cost[a.size()][b.size()];
}

CLI::Validator check(std::string kind, std::function<std::string(std::string&)> complaint) {
  return CLI::Validator(std::move(complaint), std::move(kind), std::string());
}

}  // namespace

std::string nearest(const std::string& word, const std::vector<std::string>& choices) {
  std::string best;
  int least = static_cast<int>(word.size()) / 3 + 1;
  for (const std::string& choice : choices) {
    const int far = distance(word, choice);
    if (far < least || (best.empty() && far == least)) least = far, best = choice;
  }
  return best;
}

CLI::Validator whole_number(std::int64_t least, std::int64_t most) {
  return check("N", [=](const std::string& text) {
    char* end = nullptr;
    errno = 0;
    const std::int64_t value = std::strtoll(text.c_str(), &end, 10);
    const bool good = !text.empty() && *end == '\0' && errno == 0 && value >= least && value <= most;
    return good ? std::string() : fmt::format("'{}' is not a whole number from {} to {}", text, least, most);
  });
}

CLI::Validator number(double above, double most) {
  return check("NUMBER", [=](const std::string& text) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    const bool good = !text.empty() && *end == '\0' && std::isfinite(value) && value > above && value <= most;
    return good ? std::string() : fmt::format("'{}' is not a number above {} and at most {}", text, above, most);
  });
}

CLI::Validator one_of(const std::vector<std::string>& choices) {
  return check(fmt::format("{}", fmt::join(choices, "|")), [=](const std::string& text) {
    if (std::find(choices.begin(), choices.end(), text) != choices.end()) return std::string();
    const std::string near = nearest(text, choices);
    return fmt::format("'{}' is none of {}{}", text, fmt::join(choices, ", "), near.empty() ? "" : "; did you mean " + near + "?");
  });
}

CLI::Validator bit_to_flip() {
  return check("replica=R,variable=NAME,step=K", [](const std::string& text) {
    try {
      parse_flipped_bit(text);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  });
}

CLI::Validator gpu_name() {
  return check("gpu:N", [](const std::string& text) {
    const std::string name = !text.empty() && text.front() == '/' ? text.substr(1) : text;
    const bool good = name.size() > 4 && (name.compare(0, 4, "gpu:") == 0 || name.compare(0, 4, "GPU:") == 0) &&
                      name.find_first_not_of("0123456789", 4) == std::string::npos;
    return good ? std::string() : fmt::format("'{}' is not the name of a GPU: gpu:0, gpu:1, ... (lockstep devices lists them)", text);
  });
}

CLI::Validator file_to_read() {
  return check("FILE", [](const std::string& text) {
    std::error_code ignored;
    if (fs::is_directory(text, ignored)) return fmt::format("'{}' is a folder, not a file", text);
    if (!fs::exists(text, ignored)) return fmt::format("there is no file '{}'", text);
    if (!fs::is_regular_file(text, ignored)) return fmt::format("'{}' is a pipe or a device, not a file", text);
    return std::ifstream(text).good() ? std::string() : fmt::format("'{}' can't be read: no permission", text);
  });
}

CLI::Validator file_to_write(const std::vector<std::string>& endings) {
  return check("FILE", [=](const std::string& text) {
    if (!endings.empty() && std::none_of(endings.begin(), endings.end(), [&](const std::string& end) { return text.ends_with(end); }))
      return fmt::format("'{}' does not end in {}", text, fmt::join(endings, " or "));
    std::error_code ignored;
    if (text.empty() || fs::is_directory(text, ignored)) return fmt::format("'{}' is a folder, not the name of a file", text);
    if (fs::exists(text, ignored) && !fs::is_regular_file(text, ignored))
      return fmt::format("'{}' is a pipe or a device, not the name of a file", text);
    if (!fs::exists(text, ignored) && fs::is_symlink(text, ignored))
      return fmt::format("'{}' is a link to '{}', which does not exist", text, fs::read_symlink(text, ignored).string());
    const fs::path folder = fs::path(text).parent_path();
    return folder.empty() || fs::is_directory(folder, ignored) ? std::string() : fmt::format("there is no folder '{}'", folder.string());
  });
}

CLI::Validator folder_to_write() {
  return check("FOLDER", [](const std::string& text) {
    std::error_code ignored;
    if (text.empty()) return std::string("'' is not the name of a folder");
    return !fs::exists(text, ignored) || fs::is_directory(text, ignored) ? std::string()
                                                                         : fmt::format("'{}' is a file, not a folder", text);
  });
}

CLI::Validator model_file() {
  return check("FILE", [](const std::string& text) {
    return text.ends_with(".keras") || text.ends_with(".h5")
               ? std::string()
               : fmt::format("'{}': the name of a model file ends in .keras, .h5 or .weights.h5", text);
  });
}

}  // namespace lockstep::cli
