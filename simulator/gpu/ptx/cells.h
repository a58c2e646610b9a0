// What check mode keeps for bytes of memory: one cell for 4 bytes while all accesses there are whole words, and one for each byte where
// they aren't. Most kernels access words, and a cell is larger than what it is about.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace lockstep::ptx {

template <typename Cell>
class Segment {
 public:
  static constexpr std::size_t kBytes = 64, kWord = 4;

  // Calls f(cell, first byte, bytes) for the cells of bytes [begin, end) of the segment.
  template <typename F>
  void each(std::size_t begin, std::size_t end, const F& f) {
    if (cells_.empty()) cells_.resize(kBytes / kWord);
    if (cells_.size() < kBytes && (begin % kWord != 0 || end % kWord != 0)) split();
    known(begin, end, f);
  }
  // The same where cells are there already.
  template <typename F>
  void known(std::size_t begin, std::size_t end, const F& f) {
    if (cells_.empty()) return;
    const std::size_t size = kBytes / cells_.size();
    for (std::size_t at = begin; at < end; at += size) f(cells_[at / size], at, size);
  }

 private:
  void split() {
    std::vector<Cell> bytes(kBytes);
    for (std::size_t i = 0; i < kBytes; ++i) bytes[i] = cells_[i / kWord].of_byte(i % kWord);
    cells_ = std::move(bytes);
  }
  std::vector<Cell> cells_;
};

// Segments by address, for all memory of a process.
template <typename Cell>
class Cells {
 public:
  template <typename F>
  void each(std::uint64_t address, std::size_t bytes, const F& f) {
    for (std::uint64_t at = address, end = address + bytes; at < end;) {
      const std::uint64_t first = at % Segment<Cell>::kBytes;
      const std::uint64_t last = std::min<std::uint64_t>(Segment<Cell>::kBytes, first + (end - at));
      segment(at).each(first, last, [&](Cell& cell, std::size_t byte, std::size_t size) { f(cell, at - first + byte, size); });
      at += last - first;
    }
  }

  // All cells that were ever used, by address.
  template <typename F>
  void all(const F& f) {
    std::vector<std::uint64_t> numbers;
    for (const auto& [number, page] : pages_) numbers.push_back(number);
    std::sort(numbers.begin(), numbers.end());
    for (const std::uint64_t number : numbers) {
      for (std::size_t i = 0; i < kSegments; ++i) {
        const std::uint64_t begin = number * kPage + i * Segment<Cell>::kBytes;
        (*pages_[number])[i].known(0, Segment<Cell>::kBytes,
                                   [&](Cell& cell, std::size_t byte, std::size_t size) { f(cell, begin + byte, size); });
      }
    }
  }

 private:
  static constexpr std::uint64_t kPage = 4096;
  static constexpr std::size_t kSegments = kPage / Segment<Cell>::kBytes;
  using Page = std::array<Segment<Cell>, kSegments>;

  Segment<Cell>& segment(std::uint64_t address) {
    if (last_ == nullptr || address / kPage != last_number_) {
      last_number_ = address / kPage;
      std::unique_ptr<Page>& page = pages_[last_number_];
      if (page == nullptr) page = std::make_unique<Page>();
      last_ = page.get();
    }
    return (*last_)[address % kPage / Segment<Cell>::kBytes];
  }

  std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;
  Page* last_ = nullptr;
  std::uint64_t last_number_ = 0;
};

}  // namespace lockstep::ptx
