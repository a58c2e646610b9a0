// Stands for Nsight Systems: records the NVTX ranges of a program, for tests.
//
// As a real tool it must be attached before the program's first call: a domain that was made without a tool stays null.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::sim {

struct NvtxRange {
  std::string domain;
  std::string name;
  std::int64_t number = -1;  // the payload, where there is one
  bool has_number = false;
  std::uint32_t colour = 0;               // ARGB; 0 where none was given
  std::uint32_t thread = 0;               // the system's number for it
  int depth = 0;                          // ranges of this domain and thread that were open when it began
  std::int64_t begin_ns = 0, end_ns = 0;  // of the host's steady clock
};

void attach_nvtx_listener();
void clear_nvtx_ranges();
std::vector<NvtxRange> nvtx_ranges();                // those that have ended, in that order
std::string nvtx_thread_name(std::uint32_t thread);  // empty: it was given none

}  // namespace lockstep::sim
