// The parts of the reference, by kind of instruction.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/simulator/gpu/ptx/support/reference.h"

namespace lockstep::testing {

using Parts = std::vector<std::string>;
using Operands = std::vector<std::uint64_t>;

bool has(const Parts& parts, const std::string& part);

Expected integer_reference(const Parts& parts, const Operands& operands);
Expected float_reference(const Parts& parts, const Operands& operands);
Expected half_reference(const Parts& parts, const Operands& operands);
Expected compare_reference(const Parts& parts, const Operands& operands);
Expected convert_reference(const Parts& parts, const Operands& operands);

// f16 and bf16 by a table of all their values.
double small_value(const std::string& type, std::uint16_t bits);
__extension__ typedef __float128 Quad;  // NOLINT(modernize-use-using): the extension mark needs it
// Rounded as "rn", "rz", "rm" or "rp" say.
std::uint16_t small_from(const std::string& type, Quad value, const std::string& rounding);

// The host's rounding for a while: "rn", "rz", "rm", "rp".
class HostRounding {
 public:
  explicit HostRounding(const std::string& rounding);
  ~HostRounding();
  HostRounding(const HostRounding&) = delete;
  HostRounding& operator=(const HostRounding&) = delete;
};

std::string rounding_in(const Parts& parts);  // "rn" where none is named
float flushed_float(float value);
inline bool is_signed_type(const std::string& type) { return type[0] == 's'; }
int width_of(const std::string& type);  // bits

}  // namespace lockstep::testing
