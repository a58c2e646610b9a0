// A hook for tests: breaks one copy of one variable on purpose, so that every check that compares replicas can be seen to fail.
//
// `lockstep run --flip-bit replica=1,variable=dense/kernel,step=3`, or LOCKSTEP_FLIP_BIT with the same words for any program: after the
// update of that step one bit of that replica's first element is written through an ordinary copy to its GPU.
#pragma once

#include <cstdint>
#include <string>

namespace lockstep {

struct FlippedBit {
  int replica = 0;  // among those of all workers
  std::string variable;
  std::int64_t step = 0;  // counted from 1
};

FlippedBit parse_flipped_bit(const std::string& words);  // an Error says in one sentence what is wrong with them

}  // namespace lockstep
