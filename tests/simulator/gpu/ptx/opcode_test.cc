// Every operation of the machine's own table against a plain reference, on random and special values. An operation that no rule covers
// fails.
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <random>
#include <set>
#include <sstream>

#include "simulator/gpu/ptx/instruction.h"
#include "simulator/gpu/ptx/opcode_names.h"
#include "tests/simulator/gpu/ptx/support/reference.h"
#include "tests/simulator/gpu/ptx/support/run_ptx.h"
#include "tests/simulator/gpu/ptx/support/special_cases.h"

namespace lockstep::testing {

namespace {

using ptx::Operation;
using ptx::Parameter;
constexpr int kValues = 512;

// Numbers that something is special about, as 2, 4 or 8 bytes of any type.
std::vector<std::uint64_t> special_values(int bytes) {
  std::vector<std::uint64_t> values = {0, 1, 2, 3, 4, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256};
  const auto both_signs = [&](std::uint64_t bits, int width) {
    values.push_back(bits);
    values.push_back(bits | std::uint64_t{1} << (width - 1));
  };
  for (int k = 0; k < 8 * bytes; k += 7) values.push_back(std::uint64_t{1} << k);
  values.push_back(~std::uint64_t{0});
  values.push_back(~std::uint64_t{0} - 1);
  values.push_back((std::uint64_t{1} << (8 * bytes - 1)) - 1);
  values.push_back(std::uint64_t{1} << (8 * bytes - 1));
  if (bytes == 2) {
    for (const std::uint64_t h : {0x3c00, 0x3e00, 0x7bff, 0x7c00, 0x7e00, 0x7c01, 0x0001, 0x03ff, 0x0400, 0x3f80, 0x7f80, 0x7f7f, 0x7fc0,
                                  0x0080, 0x007f, 0x5bff, 0x6400}) {
      both_signs(h, 16);
    }
  } else if (bytes == 4) {
    for (const std::uint64_t f :
         {0x3f800000, 0x3f000000, 0x3fc00000, 0x40200000, 0x7f800000, 0x7fc00000, 0x7f800001, 0x00000001, 0x007fffff, 0x00800000,
          0x7f7fffff, 0x4b000000, 0x4b7fffff, 0x4f000000, 0x4effffff, 0x4f7fffff, 0x5f000000, 0x5effffff, 0x5f800000, 0x477fe000,
          0x477ff000, 0x33000000, 0x33000001, 0x38800000, 0x7ec00000, 0x3c007c00, 0x7e003c01, 0x03ff0001, 0x3f807f80}) {
      both_signs(f, 32);
    }
  } else {
    for (const double d :
         {1.0,     0.5,     1.5,     2.5,     HUGE_VAL,     std::nan(""), 0x1p-1074,      0x1p-1022, 0x1.fffffffffffffp1023,
          0x1p52,  0x1p63,  0x1p64,  0x1p31,  0x1p32,       0x1p127,      0x1.ffffffp127, 0x1p-149,  0x1p-126,
          65504.0, 65520.0, 0x1p-24, 0x1p-25, 4294967295.5, 0.1}) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, &d, 8);
      both_signs(bits, 64);
    }
  }
  return values;
}

std::vector<std::uint64_t> values_of(int bytes, std::mt19937_64& random) {
  const std::vector<std::uint64_t> special = special_values(bytes);
  std::vector<std::uint64_t> values(kValues);
  const std::uint64_t mask = bytes == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * bytes)) - 1;
  for (auto& value : values) {
    const unsigned kind = random() % 8;
    if (bytes == 0) {
      value = random() & 1U;
      continue;
    }
    value = random();
    if (kind < 3) value = special[random() % special.size()];
    if (kind == 3) value = random() % 70;
    if (kind >= 5 && bytes == 4) {  // floats of moderate size
      const auto number =
          static_cast<float>(std::ldexp(static_cast<double>(random() % 100000) - 50000, static_cast<int>(random() % 24) - 20));
      value = 0;
      std::memcpy(&value, &number, 4);
    }
    if (kind >= 5 && bytes == 8) {
      const double number = std::ldexp(static_cast<double>(random() % 100000) - 50000, static_cast<int>(random() % 40) - 30);
      std::memcpy(&value, &number, 8);
    }
    if (kind >= 5 && bytes == 2) value = 0x3000 + random() % 0x1800 + (random() % 2) * 0x8000;
    value &= mask;
  }
  return values;
}

std::string written_name(const std::string& name) { return name.substr(0, name.find('/')); }

bool is_plain(const Operation& operation) {
  if (operation.control != ptx::Control::none || operation.parameters.size() < 2) return false;
  for (std::size_t i = 0; i < operation.parameters.size(); ++i) {
    const Parameter& parameter = operation.parameters[i];
    if (parameter.role != (i == 0 ? Parameter::Role::write : Parameter::Role::read)) return false;
    if (parameter.count != 1 && !(i == 0 && parameter.count == 2 && parameter.bytes == 0)) return false;
  }
  return true;
}

// A kernel that loads the operands, does the instruction and stores what came out: 8 bytes for each, and for the second predicate.
std::string kernel_for(const Operation& operation, const std::string& kernel_name) {
  const auto& parameters = operation.parameters;
  std::string text = ".visible .entry " + kernel_name +
                     "(.param .u64 out, .param .u64 in)\n{\n.reg .b64 %o, %i, %t, %x;\n.reg .b32 %r, %w;\n.reg .pred %pd, %pe;\n";
  text += ".reg .b16 %s<9>;\n.reg .b32 %m<9>;\n.reg .b64 %l<9>;\n.reg .pred %p<9>;\n";
  text +=
      "ld.param.u64 %o, [out];\nld.param.u64 %i, [in];\nmov.u32 %r, %tid.x;\nmul.wide.u32 %t, %r, 16;\nadd.s64 %o, %o, %t;\nmul.wide.u32 "
      "%t, %r, " +
      std::to_string(8 * (parameters.size() - 1)) + ";\nadd.s64 %i, %i, %t;\n";
  const auto reg = [](int bytes, std::size_t i) {
    return (bytes == 0 ? "%p" : bytes == 2 ? "%s" : bytes == 4 ? "%m" : "%l") + std::to_string(i);
  };
  std::string line = written_name(operation.name);
  const bool pair = parameters[0].count == 2;
  line += " " + reg(parameters[0].bytes, 0) + (pair ? "|%p8" : "");
  for (std::size_t i = 1; i < parameters.size(); ++i) {
    const int bytes = parameters[i].bytes;
    const std::string place = "[%i+" + std::to_string(8 * (i - 1)) + "]";
    if (bytes == 0) {
      text += "ld.global.u32 %w, " + place + ";\nsetp.ne.u32 " + reg(0, i) + ", %w, 0;\n";
    } else {
      text += "ld.global.b" + std::to_string(8 * bytes) + " " + reg(bytes, i) + ", " + place + ";\n";
    }
    line += ", " + reg(bytes, i);
  }
  text += line + ";\n";
  const int bytes = parameters[0].bytes;
  if (bytes == 0) {
    text += "selp.u64 %x, 1, 0, %p0;\nst.global.u64 [%o], %x;\n";
    if (pair) text += "selp.u64 %x, 1, 0, %p8;\nst.global.u64 [%o+8], %x;\n";
  } else {
    text += "st.global.b" + std::to_string(8 * bytes) + " [%o], " + reg(bytes, 0) + ";\n";
  }
  return text + "ret;\n}\n";
}

bool agrees(const Expected& expected, std::uint64_t got, int bytes) {
  const std::uint64_t mask = bytes == 0 || bytes == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * bytes)) - 1;
  if ((got & mask) == (expected.bits & mask)) return true;
  const std::string& type = expected.type;
  if (type.size() > 2 && type.substr(type.size() - 2) == "x2") {
    if (expected.error == 0) return false;
    Expected half = expected;
    half.type = type.substr(0, type.size() - 2);
    half.bits = expected.bits & 0xffffU;
    if (!agrees(half, got & 0xffffU, 2)) return false;
    half.bits = expected.bits >> 16;
    return agrees(half, got >> 16, 2);
  }
  const bool real = type == "f16" || type == "bf16" || type == "f32" || type == "f64";
  if (!real) return false;
  if (expected.any_nan && is_nan_of(type, got) && is_nan_of(type, expected.bits)) return true;
  if (expected.error == 0) return false;
  const double a = number_of(type, got), b = number_of(type, expected.bits);
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return std::fabs(a - b) <= expected.error * std::max(1.0, std::fabs(b)) * 1.01 || a == b ||
         (std::fabs(b) < 0x1p-125 && std::fabs(a - b) < 0x1p-140);
}

// How many values of an operation are wrong; the first ones are printed.
int wrong_values(const Operation& operation, std::mt19937_64& random) {
  const ptx::Module module(module_of(kernel_for(operation, "k")));
  const std::size_t sources = operation.parameters.size() - 1;
  std::vector<std::vector<std::uint64_t>> operands;
  for (std::size_t i = 0; i < sources; ++i) operands.push_back(values_of(operation.parameters[i + 1].bytes, random));
  std::vector<std::uint64_t> in(kValues * sources), out(kValues * 2, 0);
  for (std::size_t v = 0; v < kValues; ++v) {
    for (std::size_t i = 0; i < sources; ++i) in[v * sources + i] = operands[i][v];
  }
  run_kernel(module, "k", {{1, 1, 1}, {kValues, 1, 1}}, nullptr, nullptr, out.data(), in.data());
  int wrong = 0;
  for (std::size_t v = 0; v < kValues; ++v) {
    std::vector<std::uint64_t> one(in.begin() + static_cast<std::ptrdiff_t>(v * sources),
                                   in.begin() + static_cast<std::ptrdiff_t>((v + 1) * sources));
    const Expected expected = reference(written_name(operation.name), one);
    if (!expected.known) {
      ADD_FAILURE() << operation.name << " has no reference";
      return 1;
    }
    const bool fits = agrees(expected, out[2 * v], operation.parameters[0].bytes) &&
                      (operation.parameters[0].count == 1 || out[2 * v + 1] == expected.second);
    if (fits) continue;
    if (++wrong > 2) continue;
    std::ostringstream text;
    text << operation.name << " of" << std::hex;
    for (const std::uint64_t bits : one) text << " 0x" << bits;
    text << " gives 0x" << out[2 * v] << ", expected 0x" << expected.bits;
    ADD_FAILURE() << text.str();
  }
  return wrong;
}

TEST(PtxOpcodes, EveryOperationOfTheTableEqualsItsReference) {
  std::mt19937_64 random(20);
  int plain = 0, special = 0, wrong = 0;
  std::set<std::string> covered;
  for (const Operation& operation : ptx::operations().all()) {
    if (has_special_case(operation) || !is_plain(operation)) continue;
    covered.insert(operation.name);
    ++plain;
    if (wrong < 60) wrong += wrong_values(operation, random) > 0 ? 1 : 0;
  }
  for (const std::string& name : run_special_cases()) {
    covered.insert(name);
    ++special;
  }
  int untested = 0;
  for (const Operation& operation : ptx::operations().all()) {
    if (covered.count(operation.name) != 0) continue;
    ++untested;
    ADD_FAILURE() << operation.name << " is accepted and not tested";
  }
  std::cout << ptx::operations().all().size() << " operations: " << plain << " on " << kValues << " values each, " << special
            << " by cases of their own, " << untested << " untested, " << wrong << " wrong\n";
}

}  // namespace

}  // namespace lockstep::testing
