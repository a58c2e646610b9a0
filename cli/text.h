// Text in lines of a given width.
#pragma once

#include <cstddef>
#include <sstream>
#include <string>

namespace lockstep::cli {

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
