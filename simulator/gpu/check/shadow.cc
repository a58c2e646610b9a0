#include "simulator/gpu/check/shadow.h"

#include <algorithm>
#include <iterator>

namespace lockstep::sim {

void Shadow::add(std::uintptr_t begin, std::size_t bytes, bool written) {
  remove(begin, bytes);
  if (bytes > 0) segments_.emplace(begin, Segment{begin + bytes, written, {}, {}});
}

void Shadow::remove(std::uintptr_t begin, std::size_t bytes) {
  cut(begin);
  cut(begin + bytes);
  const auto from = segments_.lower_bound(begin);
  segments_.erase(from, segments_.lower_bound(begin + bytes));
}

// Afterwards no segment reaches over this address.
void Shadow::cut(std::uintptr_t at) {
  auto found = segments_.upper_bound(at);
  if (found == segments_.begin()) return;
  --found;
  if (found->first == at || found->second.end <= at) return;
  Segment rest = found->second;
  found->second.end = at;
  segments_.emplace_hint(std::next(found), at, std::move(rest));
}

// The first segment that begins here or later; after a cut that is the first one of the range.
Shadow::Map::iterator Shadow::first(std::uintptr_t begin) { return segments_.lower_bound(begin); }

bool Shadow::same_past(const Segment& a, const Segment& b) {
  const auto same = [](const Access& x, const Access& y) { return x.stream == y.stream && x.sequence == y.sequence; };
  return a.written == b.written && same(a.writer, b.writer) &&
         std::equal(a.readers.begin(), a.readers.end(), b.readers.begin(), b.readers.end(), same);
}

void Shadow::join_equal(std::uintptr_t begin, std::uintptr_t end) {
  auto at = segments_.lower_bound(begin);
  while (at != segments_.end() && at->first < end) {
    const auto next = std::next(at);
    if (next == segments_.end() || next->first >= end) return;
    if (next->first == at->second.end && same_past(at->second, next->second)) {
      at->second.end = next->second.end;
      segments_.erase(next);
    } else {
      at = next;
    }
  }
}

std::optional<std::pair<std::uintptr_t, std::uintptr_t>> Shadow::unwritten(std::uintptr_t begin, std::size_t bytes) const {
  const std::uintptr_t end = begin + bytes;
  auto at = segments_.upper_bound(begin);
  if (at != segments_.begin()) --at;
  for (; at != segments_.end() && at->first < end; ++at) {
    if (at->second.end > begin && !at->second.written) return {{std::max(begin, at->first), std::min(end, at->second.end)}};
  }
  return std::nullopt;
}

void Shadow::set_written(std::uintptr_t begin, std::size_t bytes) {
  if (!unwritten(begin, bytes)) return;
  cut(begin);
  cut(begin + bytes);
  for (auto at = first(begin); at != segments_.end() && at->first < begin + bytes; ++at) at->second.written = true;
  join_equal(begin, begin + bytes);
}

void Shadow::copy_written(std::uintptr_t from, std::uintptr_t to, std::size_t bytes) {
  std::vector<std::pair<std::uintptr_t, std::uintptr_t>> holes;  // in the source, as distances from its begin
  for (auto hole = unwritten(from, bytes); hole; hole = unwritten(hole->second, from + bytes - hole->second)) {
    holes.emplace_back(hole->first - from, hole->second - from);
    if (hole->second >= from + bytes) break;
  }
  set_written(to, bytes);
  for (const auto& [begin, end] : holes) {
    cut(to + begin);
    cut(to + end);
    for (auto at = first(to + begin); at != segments_.end() && at->first < to + end; ++at) at->second.written = false;
  }
}

}  // namespace lockstep::sim
