// The cells that ran, as Jupyter asks for them: the last ones, a range of numbers, or those that match a pattern.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace lockstep::kernel {

class History {
 public:
  void add(int number, const std::string& code) { cells_.push_back({number, code, ""}); }
  void set_output(const std::string& text) {
    if (!cells_.empty()) cells_.back().output = text;
  }
  nlohmann::json find(const nlohmann::json& request) const;  // the content of history_request

 private:
  struct Cell {
    int number;
    std::string code, output;
  };
  std::vector<Cell> cells_;
};

}  // namespace lockstep::kernel
