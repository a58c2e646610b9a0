// Switches of a step that are only for comparing: from the environment, so that any program can be asked.
#pragma once

#include <cstdint>

namespace lockstep {

// LOCKSTEP_OVERLAP, `on` or `off`: whether buckets are summed while backward goes on. On where it says nothing.
bool overlap_from_environment();
// LOCKSTEP_BUCKET_MIB: the size of a bucket, as 4 or 0.5.
std::int64_t bucket_bytes_from_environment(std::int64_t otherwise);

}  // namespace lockstep
