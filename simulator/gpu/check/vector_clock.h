// Vector clocks (Fidge, Mattern, 1988): for each stream, up to which of its nodes everything is known to have happened.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockstep::sim {

class VectorClock {
 public:
  std::uint64_t of(int stream) const {
    const auto i = static_cast<std::size_t>(stream);
    return i < seen_.size() ? seen_[i] : 0;
  }

  // Both return whether the clock has advanced.
  bool raise(int stream, std::uint64_t sequence) {
    const auto i = static_cast<std::size_t>(stream);
    if (i >= seen_.size()) seen_.resize(i + 1, 0);
    if (seen_[i] >= sequence) return false;
    seen_[i] = sequence;
    return true;
  }
  bool join(const VectorClock& other) {
    bool advanced = false;
    for (std::size_t i = 0; i < other.seen_.size(); ++i) {
      if (other.seen_[i] > 0) advanced = raise(static_cast<int>(i), other.seen_[i]) || advanced;
    }
    return advanced;
  }

 private:
  std::vector<std::uint64_t> seen_;  // by the stream's index
};

}  // namespace lockstep::sim
