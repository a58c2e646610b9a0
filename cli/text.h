// Text in lines of a given width, and without what surrounds it.
#pragma once

#include <cstddef>
#include <sstream>
#include <string>

namespace lockstep::cli {

inline constexpr std::size_t kColumns = 78;  // of a terminal of 80

// Without blanks and line ends before and behind it.
inline std::string trimmed(const std::string& text) {
  constexpr char kBlank[] = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlank);
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// The text's words in lines of at most `columns` characters, without a line break at the end.
inline std::string wrapped(const std::string& text, std::size_t columns) {
  std::istringstream words(text);
  std::string line, all;
  for (std::string word; words >> word;) {
    if (!line.empty() && line.size() + 1 + word.size() > columns) {
      all += line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return all + line;
}

}  // namespace lockstep::cli
