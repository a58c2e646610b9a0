// Where the numbers and files recorded from TensorFlow and Keras lie.
#pragma once

#include <cstdlib>
#include <string>

namespace lockstep::golden {

// The full recordings where LOCKSTEP_GOLDENS names their folder; else those that a clone brings along, with fewer elements of each tensor.
inline std::string directory() {
  const char* folder = std::getenv("LOCKSTEP_GOLDENS");
  return folder && *folder ? folder : LOCKSTEP_RECORDED;
}

}  // namespace lockstep::golden
