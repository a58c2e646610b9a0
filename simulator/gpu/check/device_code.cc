// Check mode for device code that finds out while it runs what it touches: before, what was never written; afterwards, what it used.
#include <cstdint>

#include "simulator/gpu/check/check_mode.h"

namespace lockstep::sim {

std::vector<Touch> CheckMode::unwritten(std::uintptr_t begin, std::size_t bytes) const {
  const std::lock_guard lock(mutex_);
  const std::uintptr_t end = begin + bytes;
  std::vector<Touch> holes;
  for (auto hole = shadow_.unwritten(begin, bytes); hole; hole = shadow_.unwritten(hole->second, end - hole->second)) {
    holes.push_back({reinterpret_cast<const void*>(hole->first), hole->second - hole->first, false});
    if (hole->second >= end) break;
  }
  return holes;
}

void CheckMode::check_order(Node& node, const std::vector<Touch>& touches) {
  for (const bool writes : {false, true}) {
    for (const Touch& touch : touches) {
      if (touch.bytes > 0 && touch.write == writes) check_order(node, touch);
    }
  }
}

void CheckMode::touched(Node& node, const std::vector<Touch>& touches) {
  const std::lock_guard lock(mutex_);
  if (checks().race) check_order(node, touches);
  if (!checks().memory) return;
  for (const Touch& touch : touches) {
    if (touch.write) shadow_.set_written(reinterpret_cast<std::uintptr_t>(touch.begin), touch.bytes);
  }
}

}  // namespace lockstep::sim
