// What each arithmetic instruction of PTX should give, in plain words: one value at a time, from the instruction's text, by other means
// than the machine uses (tables of all halves, 128-bit numbers, the host's own rounding).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::testing {

struct Expected {
  bool known = false;        // false: no rule for this instruction
  std::uint64_t bits = 0;    // of the result; a predicate is 0 or 1
  std::uint64_t second = 0;  // of setp's second predicate
  bool any_nan = false;      // every NaN of the type is right
  double error = 0;          // allowed, relative to the value (or absolute where it is below 1)
  std::string type;          // of the result: "f32", "f16x2", "pred", ...
};

// `name` as the machine's table has it, without widths of registers. Operands are raw bits.
Expected reference(const std::string& name, const std::vector<std::uint64_t>& operands);

// Parts of a name.
std::vector<std::string> parts_of(const std::string& name);
double number_of(const std::string& type, std::uint64_t bits);
bool is_nan_of(const std::string& type, std::uint64_t bits);

}  // namespace lockstep::testing
