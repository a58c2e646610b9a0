// Rows of a table by number.
#pragma once

#include "engine/ops/op_context.h"

namespace lockstep::ops {

// y (ids..., columns) = the rows of table (rows, columns) that ids (int32) name; NaN where there is no such row.
void embedding_lookup(const OpContext& context, const Tensor& ids, const Tensor& table, const Tensor& y);
// dtable, written whole: sums of dy by row. squares, where defined: sums of dy^2 by row.
void embedding_gradient(const OpContext& context, const Tensor& ids, const Tensor& dy, const Tensor& dtable, const Tensor& squares);

}  // namespace lockstep::ops
