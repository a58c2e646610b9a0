// What makes pointwise operations and graphs of operations complete; the other kinds are in finalize.cc.
#pragma once

#include "simulator/gpu/cudnn/descriptor.h"

namespace lockstep::sim::dnn {

cudnnStatus_t make(const Descriptor& descriptor, PointwiseValue& pointwise);
cudnnStatus_t make(const Descriptor& descriptor, PointwiseOperationValue& operation);
cudnnStatus_t make(const Descriptor& descriptor, GraphValue& graph);

}  // namespace lockstep::sim::dnn
