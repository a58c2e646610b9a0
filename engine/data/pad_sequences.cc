// pad_sequences: lists of any length into one rectangle.
#include <algorithm>

#include "lockstep/sequences.h"

namespace lockstep {
namespace {

bool is_pre(const std::string& which, const char* option) {
  if (which == "pre") return true;
  if (which == "post") return false;
  throw Error(std::string("pad_sequences: ") + option + " is \"pre\" or \"post\", not \"" + which + "\"");
}

}  // namespace

Array pad_sequences(const Sequences& sequences, std::int64_t maxlen, const std::string& padding, const std::string& truncating,
                    std::int32_t value) {
  const bool pad_before = is_pre(padding, "padding");
  const bool cut_before = is_pre(truncating, "truncating");
  if (maxlen < 0) throw Error("pad_sequences: maxlen must not be negative, not " + std::to_string(maxlen));
  if (maxlen == 0) {
    for (const auto& sequence : sequences) maxlen = std::max(maxlen, static_cast<std::int64_t>(sequence.size()));
  }
  Array padded(Shape{static_cast<std::int64_t>(sequences.size()), maxlen}, DType::int32);
  if (padded.size() == 0) return padded;
  auto* row = padded.data<std::int32_t>();
  std::fill(row, row + padded.size(), value);
  for (const auto& sequence : sequences) {
    const auto kept = std::min<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(sequence.size()), maxlen);
    const auto first = cut_before ? sequence.end() - kept : sequence.begin();
    std::copy(first, first + kept, pad_before ? row + maxlen - kept : row);
    row += maxlen;
  }
  return padded;
}

}  // namespace lockstep
