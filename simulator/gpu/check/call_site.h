// Which code made a call: a few return addresses, taken at the call, and turned into names only for a message.
#pragma once

#include <array>
#include <string>

namespace lockstep::sim {

struct CallSite {
  static constexpr int kFrames = 20;
  std::array<void*, kFrames> frames{};
  int count = 0;
};

CallSite call_site();

// "cudaMemcpyAsync in lockstep::ops::copy, from lockstep::MirroredStep::train, from main". What lies inside the virtual GPU is left out.
std::string describe(const CallSite& site);

// The function that holds this address: its name without parameters and template arguments; empty when it has none.
std::string function_at(const void* address);

}  // namespace lockstep::sim
