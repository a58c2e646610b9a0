#include "notebooks/kernel/history.h"

#include <fnmatch.h>

#include <algorithm>
#include <set>

namespace lockstep::kernel {
namespace {

constexpr int kSession = 1;  // a kernel keeps the cells of its session

}  // namespace

nlohmann::json History::find(const nlohmann::json& request) const {
  const std::string how = request.value("hist_access_type", "tail");
  std::vector<const Cell*> found;
  if (how == "range") {
    const int session = request.value("session", 0);
    const int start = request.value("start", 0);
    const nlohmann::json stop = request.value("stop", nlohmann::json());
    for (const Cell& cell : cells_) {
      const bool before_stop = !stop.is_number() || cell.number < stop.get<int>();
      if ((session == kSession || session <= 0) && cell.number >= start && before_stop) found.push_back(&cell);
    }
  } else {
    const std::string pattern = how == "search" ? request.value("pattern", "*") : "*";
    std::set<std::string> seen;
    for (auto cell = cells_.rbegin(); cell != cells_.rend(); ++cell) {  // of equal ones the last
      if (fnmatch(pattern.c_str(), cell->code.c_str(), 0) != 0) continue;
      if (request.value("unique", false) && !seen.insert(cell->code).second) continue;
      found.push_back(&*cell);
    }
    const nlohmann::json most = request.value("n", nlohmann::json());
    if (most.is_number() && found.size() > most.get<std::size_t>()) found.resize(most.get<std::size_t>());
    std::reverse(found.begin(), found.end());
  }
  nlohmann::json history = nlohmann::json::array();
  for (const Cell* cell : found) {
    nlohmann::json text = cell->code;
    if (request.value("output", false)) text = {cell->code, cell->output};
    history.push_back({kSession, cell->number, text});
  }
  return {{"status", "ok"}, {"history", history}};
}

}  // namespace lockstep::kernel
