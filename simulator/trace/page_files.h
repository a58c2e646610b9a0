// The page's own sources, simulator/trace/page/*, embedded when building.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lockstep {

const std::vector<std::pair<std::string, std::string_view>>& page_files();  // names and texts, in the order they are put together

}  // namespace lockstep
