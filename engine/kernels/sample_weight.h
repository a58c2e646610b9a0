// What a sample counts in a weighted sum.
#pragma once

#include <backend/host_device.h>
#include <backend/view.h>

namespace lockstep::kernels {

// 1 where no weights were given.
LOCKSTEP_HOST_DEVICE inline double weight_of(const View<const float>& weights, std::int64_t sample) {
  return weights.count > 0 ? static_cast<double>(weights.data[sample]) : 1.0;
}

}  // namespace lockstep::kernels
