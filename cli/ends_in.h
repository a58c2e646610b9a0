// The end of a file's name says what kind it is.
#pragma once

#include <string>

namespace lockstep::cli {

inline bool ends_in(const std::string& name, const std::string& end) {
  return name.size() > end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0;
}

}  // namespace lockstep::cli
