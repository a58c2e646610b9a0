// How many rings NVLinks form where they do not lead to a switch: as NCCL does, a ring for each way round of each cycle through the first
// `ranks` GPUs, no link being used twice. On the hybrid cube mesh of eight V100s that is 1 for 2 ranks, 4 for 4 and 6 for 8.
#pragma once

#include <vector>

namespace lockstep::clock {

using LinkCounts = std::vector<std::vector<int>>;  // links between each two GPUs, of one node

int nvlink_rings(const LinkCounts& links, int ranks);

}  // namespace lockstep::clock
