// Stretches of the host's time by name, for NVIDIA's tools: Nsight Systems shows them above the calls and kernels issued in them
// (nsys profile --trace=cuda,nvtx ...). With no tool attached a range is a comparison with null.
#pragma once

#include <cstdint>

namespace lockstep {

class Range {
 public:
  // What is shown beside the name: a step, a replica, a bucket.
  static constexpr std::int64_t kNoNumber = -1;
  // `colour`: a phase by its place in `Phase`, so that each has the colour it has in a trace; else none.
  // A null name: no range.
  explicit Range(const char* name, std::int64_t number = kNoNumber, int colour = -1);
  ~Range();
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;

 private:
  bool open_;
};

// The name of the calling thread's row.
void name_this_thread(const char* name);

}  // namespace lockstep
