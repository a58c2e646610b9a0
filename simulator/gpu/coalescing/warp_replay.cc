#include "warp_replay.h"

#include <algorithm>
#include <limits>

namespace lockstep::coalescing {

Traffic traffic_of(const Request& request) {
  std::uint64_t sorted[kWarp];
  std::copy_n(request.addresses, request.lanes, sorted);
  std::sort(sorted, sorted + request.lanes);
  Traffic traffic;
  std::uint64_t bytes = 0, byte_end = 0, sector_end = 0;
  for (int l = 0; l < request.lanes; ++l) {
    const std::uint64_t begin = sorted[l], end = begin + request.bytes;
    bytes += end - std::clamp(byte_end, begin, end);
    byte_end = std::max(byte_end, end);
    const std::uint64_t first = begin / kSector, last = (end - 1) / kSector + 1;
    traffic.sectors += last - std::clamp(sector_end, first, last);
    sector_end = std::max(sector_end, last);
  }
  traffic.least = (bytes + kSector - 1) / kSector;
  return traffic;
}

namespace {

constexpr std::uint64_t kEnd = std::numeric_limits<std::uint64_t>::max();

// Lowest goes first: the deepest call, then the lowest address.
std::uint64_t rank(const Step& step) { return (std::uint64_t{255} - step.depth) << 32 | step.place; }

}  // namespace

void replay_warp(const Trace* traces, int threads, const std::function<void(const Request&)>& each) {
  std::size_t at[kWarp] = {};
  std::uint64_t next[kWarp];
  for (int t = 0; t < threads; ++t) next[t] = traces[t].empty() ? kEnd : rank(traces[t].front());
  for (;;) {
    const std::uint64_t now = *std::min_element(next, next + threads);
    if (now == kEnd) return;
    Request request;
    for (int t = 0; t < threads; ++t) {
      if (next[t] != now) continue;
      const Step& step = traces[t][at[t]];
      request.addresses[request.lanes++] = step.address;
      request.bytes = step.bytes;
      request.view = step.view;
      request.write = step.write;
      ++at[t];
      next[t] = at[t] < traces[t].size() ? rank(traces[t][at[t]]) : kEnd;
    }
    if (request.bytes > 0) each(request);
  }
}

}  // namespace lockstep::coalescing
