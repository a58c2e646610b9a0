// Vector clocks (Fidge, Mattern, 1988): for each stream, up to which of its nodes everything is known to have happened.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockstep::sim {

class Clock {
 public:
  std::uint64_t of(int stream) const {
    const auto i = static_cast<std::size_t>(stream);
    return i < seen_.size() ? seen_[i] : 0;
  }

  // Both tell whether anything is new.
  bool raise(int stream, std::uint64_t sequence) {
    const auto i = static_cast<std::size_t>(stream);
    if (i >= seen_.size()) seen_.resize(i + 1, 0);
    if (seen_[i] >= sequence) return false;
    seen_[i] = sequence;
    return true;
  }
  bool join(const Clock& other) {
    bool news = false;
    for (std::size_t i = 0; i < other.seen_.size(); ++i) {
      if (other.seen_[i] > 0) news = raise(static_cast<int>(i), other.seen_[i]) || news;
    }
    return news;
  }

 private:
  std::vector<std::uint64_t> seen_;  // by the stream's index
};

}  // namespace lockstep::sim
