// The one exception type of the library's interface.
#pragma once

#include <stdexcept>
#include <string>

namespace lockstep {

// Its text is a sentence for a person: what is wrong, where (layer, replica, phase, file) and what would be right.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& what) : std::runtime_error(what) {}
};

}  // namespace lockstep
