// From a cell to the kernel.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace lockstep::kernel {

void send_to_kernel(const nlohmann::json& message);  // after everything the cell has printed

}  // namespace lockstep::kernel
