// Each file of operations adds its own to the table.
#pragma once

#include "simulator/gpu/ptx/instruction.h"

namespace lockstep::ptx {

void add_integer_operations(Table& table);
void add_bit_operations(Table& table);
void add_float_operations(Table& table);
void add_rounded_operations(Table& table);
void add_approximate_operations(Table& table);
void add_half_operations(Table& table);
void add_compare_operations(Table& table);
void add_conversions(Table& table);
void add_moves(Table& table);
void add_memory_operations(Table& table);
void add_atomic_operations(Table& table);
void add_exchange_operations(Table& table);
void add_matrix_operations(Table& table);
void add_tile_operations(Table& table);
void add_copy_operations(Table& table);
void add_control_operations(Table& table);

}  // namespace lockstep::ptx
