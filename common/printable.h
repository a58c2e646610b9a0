// What another process says, made fit for a terminal.
#pragma once

#include <string>
#include <string_view>

namespace lockstep {

// Control characters, and with them every escape code, become question marks; so do bytes that are not ASCII, since a terminal may take
// some of them for control characters. Long texts are cut.
inline std::string printable(std::string_view text, std::size_t most = 1000) {
  std::string result(text.substr(0, most));
  for (char& c : result)
    if (c < ' ' || c > '~') c = '?';
  return result;
}

}  // namespace lockstep
