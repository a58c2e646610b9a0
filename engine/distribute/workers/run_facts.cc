// What workers must have in common, as text, and what differs.
#include <algorithm>
#include <cstring>
#include <map>
#include <sstream>

#include "common/printable.h"
#include "engine/distribute/workers/workers.h"

namespace lockstep {
namespace {

std::map<std::string, std::string> parse_facts(const RunFactsText& text) {
  std::map<std::string, std::string> facts;
  std::istringstream lines(std::string(text.data(), strnlen(text.data(), text.size())));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t tab = std::min(line.find('\t'), line.size());
    facts[printable(line.substr(0, tab))] = printable(line.substr(std::min(tab + 1, line.size())));
  }
  return facts;
}

std::string value_in(const std::map<std::string, std::string>& facts, const std::string& name) {
  const auto found = facts.find(name);
  return found == facts.end() || found->second.empty() ? "not given" : found->second;
}

}  // namespace

RunFactsText text_of(const RunFacts& facts) {
  std::string text;
  for (const auto& [name, value] : facts) text += printable(name) + '\t' + printable(value) + '\n';
  RunFactsText block{};
  text.copy(block.data(), block.size() - 1);
  return block;
}

std::string first_difference(const std::vector<RunFactsText>& by_worker) {
  const auto first = parse_facts(by_worker.front());
  for (std::size_t w = 1; w < by_worker.size(); ++w) {
    const auto own = parse_facts(by_worker[w]);
    auto all = first;
    all.insert(own.begin(), own.end());
    for (const auto& [name, value] : all) {
      if (value_in(own, name) == value_in(first, name)) continue;
      return "Worker " + std::to_string(w) + " does not run what worker 0 runs: its " + name + " is " + value_in(own, name) +
             ", worker 0's is " + value_in(first, name) + ". Fix: start all workers with the same program, data and options.";
    }
  }
  return "";
}

}  // namespace lockstep
