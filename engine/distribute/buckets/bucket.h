// Gradients that travel together: a range of the flat gradient buffer, reduced as one message. Bucket 0 is ready first.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/nn/variables.h"

namespace lockstep {

struct Bucket {
  std::int64_t first = 0;  // elements
  std::int64_t count = 0;
  std::vector<int> variables;
  int sparse = -1;  // its only variable, where that one's gradient comes by rows
};

std::vector<Bucket> make_buckets(const VariableLayout& layout, std::int64_t bucket_bytes, std::int64_t first_bucket_bytes,
                                 std::int64_t smallest_bytes = 256 << 10);

}  // namespace lockstep
