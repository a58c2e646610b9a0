// What check mode has found so far in this process; for tests.
#pragma once

#include <string>
#include <vector>

namespace lockstep::sim {

std::vector<std::string> check_reports();  // empty when check mode is off
void clear_check_reports();

}  // namespace lockstep::sim
