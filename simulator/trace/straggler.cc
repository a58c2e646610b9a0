// Medians throughout, so that one slow moment of the machine names no straggler.
#include "simulator/trace/straggler.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <tuple>

namespace lockstep {
namespace {

constexpr std::size_t kFewestRows = 5;  // fewer are no pattern

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// How many times as long one of them took as the median of the others.
template <typename Key>
double times_slower(const std::map<Key, double>& all, const Key& who) {
  std::vector<double> others;
  for (const auto& [key, value] : all)
    if (key != who) others.push_back(value);
  const double usual = others.empty() ? 0 : median(others);
  return usual > 0 ? all.at(who) / usual : 1;
}

// The one that is slowest at the median, from rows of times.
template <typename Key>
std::optional<Key> slowest(const std::vector<std::map<Key, double>>& rows, double least, double& times, std::int64_t& first_in) {
  std::map<Key, std::vector<double>> ratios;
  std::map<Key, std::int64_t> wins;
  for (const std::map<Key, double>& row : rows) {
    if (row.size() < 2) continue;
    for (const auto& [key, value] : row) ratios[key].push_back(times_slower(row, key));
    ++wins[std::max_element(row.begin(), row.end(), [](const auto& a, const auto& b) { return a.second < b.second; })->first];
  }
  std::optional<Key> found;
  for (const auto& [key, values] : ratios) {
    const double ratio = median(values);
    if (values.size() < kFewestRows || ratio < least || 2 * wins[key] <= static_cast<std::int64_t>(values.size()) ||
        (found && ratio <= times))
      continue;
    found = key;
    times = ratio;
    first_in = wins[key];
  }
  return found;
}

std::int64_t number(const Span& span, const char* key) {
  const std::string* text = span.detail(key);
  return text ? std::strtoll(text->c_str(), nullptr, 10) : -1;
}

}  // namespace

std::string Straggler::sentence() const {
  std::array<char, 160> text{};
  if (!found) return "";
  if (replica >= 0)
    std::snprintf(text.data(), text.size(), "replica %d computes %.1f times as long as the others", replica, times_slower);
  else
    std::snprintf(text.data(), text.size(), "the link %d -> %d takes %.1f times as long as the others", from, to, times_slower);
  return text.data();
}

Straggler slow_replica(const StepTable& table, const std::set<std::int64_t>& steps) {
  std::vector<std::map<int, double>> rows;
  for (const auto& [step, cells] : table) {
    if (!steps.count(step)) continue;
    std::map<int, double> row;
    for (const auto& [replica, cell] : cells)
      for (const Span* span : cell.phases)
        if (span->phase == Phase::local_gradients) row[replica] += static_cast<double>(span->ns());
    rows.push_back(std::move(row));
  }
  Straggler result;
  const std::optional<int> who = slowest(rows, 1.3, result.times_slower, result.seen_in);
  result.found = who.has_value();
  result.replica = who.value_or(-1);
  return result;
}

Straggler slow_link(const StepTable& table, const std::set<std::int64_t>& steps) {
  using Link = std::pair<int, int>;
  std::vector<std::map<Link, double>> rows;
  for (const auto& [step, cells] : table) {
    if (!steps.count(step)) continue;
    // A row for each bucket, size and kind (to be added, to be kept): of several messages of a link, the median.
    std::map<std::tuple<std::int64_t, std::int64_t, bool>, std::map<Link, std::vector<double>>> sizes;
    for (const auto& [replica, cell] : cells) {
      for (const Span* span : cell.parts) {
        const std::vector<int> senders = span->senders();
        if (span->phase != Phase::all_reduce || senders.size() != 1 || span->detail("to") == nullptr) continue;  // of several: no one link
        const Link link(senders.front(), static_cast<int>(number(*span, "to")));
        std::int64_t size = number(*span, "bytes");
        for (std::int64_t rounded = 1;; rounded *= 2) {  // chunks of a ring differ by an element
          if (rounded < size) continue;
          size = rounded;
          break;
        }
        const std::string* adds = span->detail("adds");
        sizes[{number(*span, "bucket"), size, adds != nullptr && *adds == "true"}][link].push_back(static_cast<double>(span->ns()));
      }
    }
    for (const auto& [key, links] : sizes) {
      std::map<Link, double>& row = rows.emplace_back();
      for (const auto& [link, values] : links) row[link] = median(values);
    }
  }
  Straggler result;
  const std::optional<Link> link = slowest(rows, 2, result.times_slower, result.seen_in);
  result.found = link.has_value();
  if (link) result.from = link->first, result.to = link->second;
  return result;
}

}  // namespace lockstep
