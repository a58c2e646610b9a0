// Operations that are more than a function of their operands: memory, atomics, exchanges between lanes, carries, control.
#pragma once

#include <set>
#include <string>

#include "simulator/gpu/ptx/instruction.h"

namespace lockstep::testing {

bool has_special_case(const ptx::Operation& operation);

// Runs them all, with gtest's expectations, and says which operations of the table they cover.
std::set<std::string> run_special_cases();

using Covered = std::set<std::string>;
void memory_cases(Covered& covered);
void atomic_cases(Covered& covered);
void exchange_cases(Covered& covered);
void move_cases(Covered& covered);
void carry_cases(Covered& covered);
void control_cases(Covered& covered);
void matrix_cases(Covered& covered);
void tile_cases(Covered& covered);
void copy_cases(Covered& covered);

inline bool starts_with(const std::string& text, const std::string& start) { return text.rfind(start, 0) == 0; }

}  // namespace lockstep::testing
