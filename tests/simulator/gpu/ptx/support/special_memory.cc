// Loads, stores and atomics.
#include <gtest/gtest.h>

#include <random>

#include "simulator/gpu/ptx/machine.h"
#include "tests/simulator/gpu/ptx/support/reference.h"
#include "tests/simulator/gpu/ptx/support/run_ptx.h"
#include "tests/simulator/gpu/ptx/support/special_cases.h"

namespace lockstep::testing {

namespace {

// "ld.global.v2.s8/4": the words between, and the width behind the stroke.
struct Access {
  std::string space = "generic", type;
  int vector = 1, bytes = 0, registers = 0;
};
Access access_of(const std::string& name) {
  Access access;
  const auto parts = parts_of(name.substr(0, name.find('/')));
  access.registers = std::stoi(name.substr(name.find('/') + 1));
  for (std::size_t i = 1; i + 1 < parts.size(); ++i) {
    if (parts[i] == "v2" || parts[i] == "v4")
      access.vector = parts[i][1] - '0';
    else
      access.space = parts[i];
  }
  access.type = parts.back();
  access.bytes = std::stoi(access.type.substr(1)) / 8;
  return access;
}
std::string registers_of(const Access& access) {
  std::string list;
  for (int k = 0; k < access.vector; ++k) list += (k > 0 ? ", " : "") + std::string("%v") + std::to_string(k);
  return access.vector > 1 ? "{" + list + "}" : list;
}
std::uint64_t extended(std::uint64_t bits, int bytes, bool is_signed, int to) {
  const int unused = 64 - 8 * bytes;
  const std::uint64_t value =
      is_signed ? static_cast<std::uint64_t>(static_cast<std::int64_t>(bits << unused) >> unused) : (bits << unused) >> unused;
  return to == 8 ? value : value & ((std::uint64_t{1} << (8 * to)) - 1);
}

constexpr int kThreads = 40;

// 16 bytes a thread go from global memory to the space, through the instruction, and to the result.
std::string text_for(const std::string& name, const Access& access, bool loads) {
  std::string text, copy_in, copy_out;
  const std::string& space = access.space;
  if (space == "const") text += ".const .align 16 .b8 v[640];\n";
  text += ".visible .entry k(.param .u64 d, .param .u64 s, .param .align 16 .b8 p[16])\n{\n";
  if (space == "shared") text += ".shared .align 16 .b8 v[640];\n";
  if (space == "local") text += ".local .align 16 .b8 v[16];\n";
  if (space == "param" && !loads) text += ".param .align 16 .b8 q[16];\n";
  text += ".reg .b64 %o, %i, %t, %a;\n.reg .b32 %r, %w<4>;\n.reg .b" + std::to_string(8 * access.registers) +
          " %v<4>;\nld.param.u64 %o, [d];\nld.param.u64 %i, [s];\nmov.u32 %r, %tid.x;\nmul.wide.u32 %t, %r, 16;\nadd.s64 %i, %i, "
          "%t;\nmul.wide.u32 %a, %r, 32;\nadd.s64 %o, %o, %a;\n";
  std::string base = "%a";
  if (space == "global" || space == "generic")
    text += loads ? "mov.u64 %a, %i;\n" : "mov.u64 %a, %o;\n";
  else if (space == "param")
    base = loads ? "p" : "q";
  else {
    text += "mov.u64 %a, v;\n";
    if (space != "local") text += "add.s64 %a, %a, %t;\n";
  }
  const bool apart = space == "shared" || space == "local" || (space == "param" && !loads);
  for (int k = 0; k < 4; ++k) {
    const std::string w = "%w" + std::to_string(k), at = "+" + std::to_string(4 * k) + "]";
    copy_in += "ld.global.u32 " + w + ", [%i" + at + ";\nst." + space + ".u32 [" + base + at + ", " + w + ";\n";
    copy_out += "ld." + space + ".u32 " + w + ", [" + base + at + ";\nst.global.u32 [%o" + at + ", " + w + ";\n";
  }
  const std::string written = name.substr(0, name.find('/')), registers = registers_of(access),
                    reg_type = "b" + std::to_string(8 * access.registers);
  if (loads) {
    if (apart) text += copy_in;
    text += written + " " + registers + ", [" + base + "];\n";
    for (int k = 0; k < access.vector; ++k)
      text += "st.global." + reg_type + " [%o+" + std::to_string(8 * k) + "], %v" + std::to_string(k) + ";\n";
  } else {
    for (int k = 0; k < access.vector; ++k)
      text += "ld.global.b" + std::to_string(8 * access.bytes) + " %v" + std::to_string(k) + ", [%i+" + std::to_string(access.bytes * k) +
              "];\n";
    text += written + " [" + base + "], " + registers + ";\n";
    if (apart) text += copy_out;
  }
  return text + "ret;\n}\n";
}

}  // namespace

void memory_cases(Covered& covered) {
  std::mt19937_64 random(4);
  struct Bytes16 {
    alignas(16) unsigned char bytes[16];
  };
  for (const ptx::Operation& operation : ptx::operations().all()) {
    const std::string& name = operation.name;
    const bool loads = starts_with(name, "ld."), stores = starts_with(name, "st.");
    if (!loads && !stores) continue;
    const Access access = access_of(name);
    alignas(16) std::uint64_t source[kThreads * 2];
    for (auto& value : source) value = random();
    Bytes16 parameter{};
    std::memcpy(parameter.bytes, source, 16);
    alignas(16) std::uint64_t result[kThreads * 4] = {};
    const ptx::Module module(module_of(text_for(name, access, loads)));
    if (access.space == "const") std::memcpy(module.variable("v").data, source, sizeof(source));
    run_kernel(module, "k", {{1, 1, 1}, {kThreads, 1, 1}}, nullptr, nullptr, static_cast<void*>(result), static_cast<void*>(source),
               parameter);
    for (std::size_t t = 0; t < kThreads; ++t) {
      const auto* from = reinterpret_cast<const unsigned char*>(source) + (access.space == "param" && loads ? 0 : 16 * t);
      for (int k = 0; k < access.vector; ++k) {
        std::uint64_t element = 0;
        std::memcpy(&element, from + k * access.bytes, static_cast<std::size_t>(access.bytes));
        if (loads) {
          ASSERT_EQ(result[4 * t + static_cast<std::size_t>(k)], extended(element, access.bytes, access.type[0] == 's', access.registers))
              << name << ", thread " << t;
        } else {
          std::uint64_t stored = 0;
          std::memcpy(&stored, reinterpret_cast<const unsigned char*>(result) + 32 * t + static_cast<std::size_t>(k * access.bytes),
                      static_cast<std::size_t>(access.bytes));
          ASSERT_EQ(stored, element) << name << ", thread " << t;
        }
      }
    }
    covered.insert(name);
  }
}

// 64 threads on 4 places, in the order of threads.
void atomic_cases(Covered& covered) {
  std::mt19937_64 random(5);
  constexpr std::size_t kCount = 64, kPlaces = 4;
  for (const ptx::Operation& operation : ptx::operations().all()) {
    const std::string& name = operation.name;
    const bool returns = starts_with(name, "atom.");
    if (!returns && !starts_with(name, "red.")) continue;
    const auto parts = parts_of(name);
    const std::string& type = parts.back();
    std::string space = "generic", rule;
    for (const std::string& part : parts) {
      if (part == "global" || part == "shared") space = part;
      for (const char* each : {"add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"}) rule = part == each ? part : rule;
    }
    const int bytes = operation.bytes;
    const std::string b = "b" + std::to_string(8 * bytes);
    for (const std::string inside : {"global", "shared"}) {
      if (space != "generic" && space != inside) continue;
      const bool shared = inside == "shared";
      const std::string text =
          ".visible .entry k(.param .u64 m, .param .u64 s, .param .u64 d)\n{\n.shared .align 8 .b8 v[32];\n.reg .b64 %m, %s, %d, %t, %a;\n"
          ".reg .b32 %r, %q;\n.reg ." +
          b +
          " %x<5>;\n.reg .pred %p;\nld.param.u64 %m, [m];\nld.param.u64 %s, [s];\nld.param.u64 %d, [d];\n"
          "mov.u32 %r, %tid.x;\nmul.wide.u32 %t, %r, 8;\nadd.s64 %d, %d, %t;\nmul.wide.u32 %t, %r, 24;\nadd.s64 %s, %s, %t;\nld.global.u32 "
          "%q, [%s+16];\n"
          "mul.wide.u32 %t, %q, 8;\nld.global." +
          b + " %x1, [%s];\nld.global." + b + " %x2, [%s+8];\n" + (shared ? "setp.ne.u32 %p, %r, 0;\n@%p bra after;\n" : "") +
          (shared ? "ld.global." + b + " %x3, [%m];\nst.shared." + b + " [v], %x3;\nld.global." + b + " %x3, [%m+8];\nst.shared." + b +
                        " [v+8], %x3;\nld.global." + b + " %x3, [%m+16];\nst.shared." + b + " [v+16], %x3;\nld.global." + b +
                        " %x3, [%m+24];\nst.shared." + b + " [v+24], %x3;\nafter:\nbar.sync 0;\nmov.u64 %a, v;\n" +
                        (space == "generic" ? "cvta.shared.u64 %a, %a;\n" : "")
                  : "mov.u64 %a, %m;\n") +
          "add.s64 %a, %a, %t;\n" + name + (returns ? " %x0, [%a], %x1" : " [%a], %x1") + (rule == "cas" ? ", %x2" : "") + ";\n" +
          (returns ? "st.global." + b + " [%d], %x0;\n" : "") +
          (shared ? "bar.sync 0;\nsetp.ge.u32 %p, %r, 4;\n@%p ret;\nmov.u64 %a, v;\nmul.wide.u32 %t, %r, 8;\nadd.s64 %a, %a, %t;\nadd.s64 "
                    "%m, %m, %t;\nld.shared." +
                        b + " %x4, [%a];\nst.global." + b + " [%m], %x4;\n"
                  : "") +
          "ret;\n}\n";
      std::vector<std::uint64_t> memory(kPlaces, 0), source(kCount * 3), old(kCount, 0);
      const std::uint64_t mask = bytes == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * bytes)) - 1;
      for (std::size_t i = 0; i < source.size(); ++i)
        source[i] = i % 3 == 2 ? random() % kPlaces : (random() % 3 == 0 ? random() % 4 : random()) & mask;
      for (auto& value : memory) value = random() % 4;
      std::vector<std::uint64_t> expected = memory, expected_old(kCount, 0);
      run_text(text, {{1, 1, 1}, {kCount, 1, 1}}, memory.data(), source.data(), old.data());
      for (std::size_t i = 0; i < kCount; ++i) {
        std::uint64_t& at = expected[source[3 * i + 2]];
        const std::uint64_t x = source[3 * i], y = source[3 * i + 1];
        expected_old[i] = at;
        if (rule == "exch")
          at = x;
        else if (rule == "cas")
          at = at == x ? y : at;
        else if (rule == "inc")
          at = at >= x ? 0 : at + 1;
        else if (rule == "dec")
          at = at == 0 || at > x ? x : at - 1;
        else
          at = reference(rule + (type == "f32" && !shared ? ".ftz." : ".") + type, {at, x}).bits & mask;
      }
      for (std::size_t i = 0; i < kPlaces; ++i) {
        const bool nan = (type == "f64") && is_nan_of(type, memory[i]) && is_nan_of(type, expected[i]);
        ASSERT_TRUE(nan || memory[i] == expected[i]) << name << " in " << inside << ": " << memory[i] << ", not " << expected[i];
      }
      for (std::size_t i = 0; returns && i < kCount; ++i) {
        const bool nan = (type == "f64") && is_nan_of(type, old[i]) && is_nan_of(type, expected_old[i]);
        ASSERT_TRUE(nan || old[i] == expected_old[i]) << name << " in " << inside << " of thread " << i;
      }
    }
    covered.insert(name);
  }
}

}  // namespace lockstep::testing
