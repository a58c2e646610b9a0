// Files that may be libnvrtc.so, in the order in which they are tried.
#pragma once

#include <string>
#include <vector>

namespace lockstep {

// `preferred` is the major version that comes first. Names without a folder are for the loader's own search.
std::vector<std::string> nvrtc_places(int preferred);

// LOCKSTEP_NVRTC; empty where it is not set. Then no other place is looked at.
std::string nvrtc_asked_for();

}  // namespace lockstep
