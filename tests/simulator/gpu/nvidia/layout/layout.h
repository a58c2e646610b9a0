// Layouts as (what, number) pairs; see fields.inl.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::nvidia {

using Field = std::pair<std::string, std::size_t>;
std::vector<Field> our_layout();
std::vector<Field> nvidias_layout();

}  // namespace lockstep::nvidia
