// Measured all-reduces in groups: of one machine and number of ranks. Each is left out of a fit once.
#pragma once

#include <map>
#include <string>

#include "simulator/clock/collective_fit.h"

namespace lockstep::cli {

inline std::string nccl_group(const clock::NcclMeasurement& row) { return row.machine + ", " + std::to_string(row.ranks) + " ranks"; }

inline std::map<std::string, clock::NcclFit> fits_without_each_group() {
  std::map<std::string, clock::NcclFit> fits;
  for (const clock::NcclMeasurement& row : clock::nccl_measurements()) {
    const std::string group = nccl_group(row);
    if (!fits.contains(group))
      fits[group] = clock::fit_nccl([&](const clock::NcclMeasurement& other) { return nccl_group(other) != group; });
  }
  return fits;
}

}  // namespace lockstep::cli
