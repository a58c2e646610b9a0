// Output while training runs.
#pragma once

#include <cstdio>
#include <string>

namespace lockstep::cli {

// Does not fail: a closed terminal or a full disk must not end training. main checks the stream after everything is saved.
inline void put(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

}  // namespace lockstep::cli
