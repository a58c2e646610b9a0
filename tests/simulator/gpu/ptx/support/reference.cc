// Rules by opcode: which part of the reference knows an instruction.
#include "tests/simulator/gpu/ptx/support/reference.h"

#include <cmath>
#include <cstring>

#include "tests/simulator/gpu/ptx/support/reference_parts.h"

namespace lockstep::testing {

std::vector<std::string> parts_of(const std::string& name) {
  std::vector<std::string> parts(1);
  for (const char c : name) {
    if (c == '.')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

bool has(const std::vector<std::string>& parts, const std::string& part) {
  for (const std::string& each : parts) {
    if (each == part) return true;
  }
  return false;
}

double number_of(const std::string& type, std::uint64_t bits) {
  if (type == "f64") {
    double value = 0;
    std::memcpy(&value, &bits, 8);
    return value;
  }
  if (type == "f32") {
    float value = 0;
    std::memcpy(&value, &bits, 4);
    return value;
  }
  return small_value(type, static_cast<std::uint16_t>(bits));
}

bool is_nan_of(const std::string& type, std::uint64_t bits) { return std::isnan(number_of(type, bits)); }

Expected reference(const std::string& name, const std::vector<std::uint64_t>& operands) {
  const std::vector<std::string> parts = parts_of(name);
  const std::string& type = parts.back();
  if (parts[0] == "cvt") return convert_reference(parts, operands);
  if (parts[0] == "setp" || parts[0] == "set" || parts[0] == "selp" || parts[0] == "slct") return compare_reference(parts, operands);
  if (type == "f16" || type == "bf16" || type == "f16x2" || type == "bf16x2") return half_reference(parts, operands);
  if (type == "f32" || type == "f64") return float_reference(parts, operands);
  return integer_reference(parts, operands);
}

}  // namespace lockstep::testing
