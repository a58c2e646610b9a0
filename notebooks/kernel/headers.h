// A user's own headers, #include "mine.h", are read as part of the cell: so a changed header is read again, and its
// definitions replace the old ones, as with a changed cell. The compiler alone would keep the first version.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::kernel {

class UserHeaders {
 public:
  struct Header {
    std::string path, text;
    std::string guard;  // the macro of its include guard, to be undefined first
  };

  void add_folder(const std::string& folder) { folders_.push_back(folder); }
  // The header of this directive in the file `by`; its text is empty if it has been read as it is. Nothing: left to the compiler.
  std::optional<Header> take(const std::string& directive, const std::string& by);

 private:
  std::vector<std::string> folders_;         // of #pragma cling add_include_path
  std::map<std::string, std::string> read_;  // by path
};

}  // namespace lockstep::kernel
