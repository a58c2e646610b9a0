// Rows of a table that are in use: packed, and summed over replicas.
#pragma once

#include "engine/ops/op_context.h"

namespace lockstep::ops {

// packed (rows, columns) = the table's rows of these numbers (int32); zeros for a negative number.
void pack_rows(const OpContext& context, const Tensor& table, const Tensor& rows, const Tensor& packed);
// table's rows[k] = the sum over replicas r of packed (replicas, most, columns) at [r, positions[k, r]], where that is not negative.
void merge_rows(const OpContext& context, const Tensor& packed, const Tensor& rows, const Tensor& positions, const Tensor& table);

// to's rows of these numbers += from's; each is named once at most.
void add_rows(const OpContext& context, const Tensor& from, const Tensor& rows, const Tensor& to);

// to's rows of these numbers = from's.
void copy_rows(const OpContext& context, const Tensor& from, const Tensor& rows, const Tensor& to);

}  // namespace lockstep::ops
