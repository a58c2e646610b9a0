// Output while training runs.
#pragma once

#include <cstdio>
#include <string>

namespace lockstep::cli {

// A terminal that has gone or a full disk must not be the end of training: main looks at the stream when all is saved.
inline void put(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

}  // namespace lockstep::cli
