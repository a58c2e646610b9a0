// What a shard held, small enough to be kept: pictures as bytes, texts as numbers of words, anything else by its first numbers.
#pragma once

#include <cstdint>
#include <string>

#include "lockstep/array.h"

namespace lockstep {

struct ShardSamples {
  std::int64_t step = 0;
  int replica = 0;
  std::int64_t first = 0, count = 0;  // in the global batch
  int most = 8;                       // samples to keep
};

// JSON: {"step", "replica", "first", "count", "labels": [...], and one of
//   "pictures": {"height", "width", "channels", "data": [base64 of bytes, ...]}   samples (h, w, 1 or 3): at most 56 pixels a side
//   "tokens": [[...], ...]                                                        samples of int32
//   "numbers": [[...], ...]                                                       the first few of each
std::string samples_json(const ShardSamples& which, const Array& x, const Array& y);

// The same in two halves: a quick copy of what is kept, and the text.
struct KeptSamples {
  ShardSamples which;
  Array x, y;  // from which.first on
};
KeptSamples keep_samples(const ShardSamples& which, const Array& x, const Array& y);
std::string samples_json(const KeptSamples& kept);

}  // namespace lockstep
