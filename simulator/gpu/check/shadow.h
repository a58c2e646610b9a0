// What has happened to every byte of device and page-locked memory: which operation wrote it last, which ones have read it since, and
// whether it was ever written. Neighbouring bytes with the same past are one segment; a write over several makes one of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "simulator/gpu/check/order.h"

namespace lockstep::sim {

// An earlier access that nothing orders before the present one, and the bytes both touch.
struct Conflict {
  Access earlier;
  bool earlier_wrote = false;
  std::uintptr_t begin = 0, end = 0;
};

class Shadow {
 public:
  void add(std::uintptr_t begin, std::size_t bytes, bool written);
  void remove(std::uintptr_t begin, std::size_t bytes);

  // `before(access)`: whether an earlier access is certain to have happened before this one. Memory that was not added is not looked at.
  template <typename Before>
  std::optional<Conflict> read(std::uintptr_t begin, std::size_t bytes, const Access& access, const Before& before);
  template <typename Before>
  std::optional<Conflict> write(std::uintptr_t begin, std::size_t bytes, const Access& access, const Before& before);
  template <typename Before>
  std::optional<Conflict> look(std::uintptr_t begin, std::size_t bytes, const Before& before) const;

  // The first bytes of the range that were never written.
  std::optional<std::pair<std::uintptr_t, std::uintptr_t>> unwritten(std::uintptr_t begin, std::size_t bytes) const;
  void set_written(std::uintptr_t begin, std::size_t bytes);
  void copy_written(std::uintptr_t from, std::uintptr_t to, std::size_t bytes);  // bytes keep what they were

  std::size_t segments() const { return segments_.size(); }

 private:
  struct Segment {
    std::uintptr_t end = 0;
    bool written = false;
    Access writer;
    std::vector<Access> readers;  // since then; at most one of a stream
  };
  using Map = std::map<std::uintptr_t, Segment>;

  void cut(std::uintptr_t at);
  Map::iterator first(std::uintptr_t begin);
  void join_equal(std::uintptr_t begin, std::uintptr_t end);
  static bool same_past(const Segment& a, const Segment& b);

  Map segments_;  // by begin
};

template <typename Before>
std::optional<Conflict> Shadow::look(std::uintptr_t begin, std::size_t bytes, const Before& before) const {
  const std::uintptr_t end = begin + bytes;
  auto at = segments_.upper_bound(begin);
  if (at != segments_.begin()) --at;
  for (; at != segments_.end() && at->first < end; ++at) {
    const Segment& segment = at->second;
    if (segment.end <= begin) continue;
    const std::uintptr_t from = std::max(begin, at->first), to = std::min(end, segment.end);
    if (!before(segment.writer)) return Conflict{segment.writer, true, from, to};
    for (const Access& reader : segment.readers) {
      if (!before(reader)) return Conflict{reader, false, from, to};
    }
  }
  return std::nullopt;
}

template <typename Before>
std::optional<Conflict> Shadow::read(std::uintptr_t begin, std::size_t bytes, const Access& access, const Before& before) {
  const std::uintptr_t end = begin + bytes;
  cut(begin);
  cut(end);
  for (auto at = first(begin); at != segments_.end() && at->first < end; ++at) {
    Segment& segment = at->second;
    if (!before(segment.writer)) return Conflict{segment.writer, true, at->first, segment.end};
    std::erase_if(segment.readers, before);  // what is ordered behind this read is ordered behind those
    segment.readers.push_back(access);
  }
  join_equal(begin, end);
  return std::nullopt;
}

template <typename Before>
std::optional<Conflict> Shadow::write(std::uintptr_t begin, std::size_t bytes, const Access& access, const Before& before) {
  if (auto conflict = look(begin, bytes, before)) return conflict;
  const std::uintptr_t end = begin + bytes;
  cut(begin);
  cut(end);
  for (auto at = first(begin); at != segments_.end() && at->first < end; ++at) {
    at->second.writer = access;
    at->second.readers.clear();
  }
  join_equal(begin, end);
  return std::nullopt;
}

}  // namespace lockstep::sim
