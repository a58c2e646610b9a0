// Products of matrices by a warp, against plain loops: every layout of every operand, from every space, with every type of sum.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "simulator/gpu/ptx/narrowing.h"
#include "tests/simulator/gpu/ptx/support/run_ptx.h"
#include "tests/simulator/gpu/ptx/support/special_cases.h"

namespace lockstep::testing {

namespace {

constexpr std::size_t kSide = 16;
constexpr std::size_t kStride = 24;  // elements from one line to the next

std::string list(const std::string& name, int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i) text += (i > 0 ? ", %" : "%") + name + std::to_string(i);
  return text + "}";
}
std::size_t at(bool by_row, std::size_t row, std::size_t column) { return by_row ? row * kStride + column : column * kStride + row; }

struct Case {
  bool a_by_row, b_by_row, c_by_row, d_by_row;
  std::string space, c_type, d_type;
};

double value_of(const std::string& type, const std::vector<std::uint32_t>& memory, std::size_t index) {
  if (type == "f32") return static_cast<double>(std::bit_cast<float>(memory[index]));
  return static_cast<double>(ptx::widen(ptx::Half{static_cast<std::uint16_t>(memory[index / 2] >> (16 * (index % 2)))}));
}

void run_case(const Case& one, std::mt19937& random, Covered& covered) {
  const auto layout = [](bool by_row) { return std::string(by_row ? "row" : "col"); };
  const auto transfer = [&](const std::string& what, bool by_row, const std::string& type) {
    const std::string name = "wmma." + what + ".sync.aligned." + layout(by_row) + ".m16n16k16" + one.space + "." + type;
    covered.insert(name);
    return name + " ";
  };
  const std::string product =
      "wmma.mma.sync.aligned." + layout(one.a_by_row) + "." + layout(one.b_by_row) + ".m16n16k16." + one.d_type + "." + one.c_type;
  covered.insert(product);
  const int of_c = one.c_type == "f32" ? 8 : 4, of_d = one.d_type == "f32" ? 8 : 4;
  const std::string c_prefix = one.c_type == "f32" ? "f" : "c", d_prefix = one.d_type == "f32" ? "g" : "d";
  // Matrices of 2 KiB each; those in shared memory are copied there and back.
  const bool shared = one.space == ".shared";
  std::string text =
      ".visible .entry k(.param .u64 d, .param .u64 s)\n{\n.shared .align 32 .b8 v[8192];\n.reg .b64 %o, %s, %t;\n.reg .b32 %r, %w, %v, "
      "%n;\n.reg .pred %p;\n.reg .b32 %a<8>, %b<8>, %c<8>, %d<8>;\n.reg .f32 %f<8>, %g<8>;\nld.param.u64 %o, [d];\nld.param.u64 %s, "
      "[s];\nmov.u32 %r, %tid.x;\nmov.u32 %n, " +
      std::to_string(kStride) + ";\n";
  const auto copy = [](bool in) {
    return std::string("shl.b32 %v, %r, 2;\nmov.u32 %w, v;\nadd.u32 %v, %v, %w;\nmul.wide.u32 %t, %r, 4;\nadd.s64 %t, %t, ") +
           (in ? "%s" : "%o") + ";\nmov.u32 %w, " + (in ? "48" : "16") + ";\n" + (in ? "in" : "out") + ":\n" +
           (in ? "ld.global.u32 %a0, [%t];\nst.shared.u32 [%v], %a0;\n" : "ld.shared.u32 %a0, [%v+6144];\nst.global.u32 [%t], %a0;\n") +
           "add.u32 %v, %v, 128;\nadd.s64 %t, %t, 128;\nadd.u32 %w, %w, -1;\nsetp.ne.u32 %p, %w, 0;\n@%p bra " + (in ? "in" : "out") +
           ";\n";
  };
  if (shared) text += copy(true) + "mov.u64 %s, v;\nbar.sync 0;\n";
  text += transfer("load.a", one.a_by_row, "f16") + list("a", 8) + ", [%s], %n;\n";
  text += transfer("load.b", one.b_by_row, "f16") + list("b", 8) + ", [%s+2048], %n;\n";
  text += transfer("load.c", one.c_by_row, one.c_type) + list(c_prefix, of_c) + ", [%s+4096], %n;\n";
  text += product + " " + list(d_prefix, of_d) + ", " + list("a", 8) + ", " + list("b", 8) + ", " + list(c_prefix, of_c) + ";\n";
  text += transfer("store.d", one.d_by_row, one.d_type) + std::string(shared ? "[%s+6144], " : "[%o], ") + list(d_prefix, of_d) + ", %n;\n";
  if (shared) text += "bar.sync 0;\n" + copy(false);
  text += "ret;\n}\n";

  alignas(32) static std::uint32_t source[1536], result[512];
  std::normal_distribution<float> normal;
  const auto half = [&] { return std::uint32_t{ptx::narrowed<ptx::Half>(static_cast<double>(normal(random))).bits}; };
  for (std::size_t i = 0; i < 1536; ++i) {
    const bool wide = i >= 1024 && one.c_type == "f32";
    source[i] = wide ? std::bit_cast<std::uint32_t>(normal(random)) : half() | half() << 16;
  }
  run_text(text, {{1, 1, 1}, {32, 1, 1}}, static_cast<void*>(result), static_cast<void*>(source));
  const std::vector<std::uint32_t> a(source, source + 512), b(source + 512, source + 1024), c(source + 1024, source + 1536),
      d(result, result + 512);
  for (std::size_t row = 0; row < kSide; ++row) {
    for (std::size_t column = 0; column < kSide; ++column) {
      double sum = value_of(one.c_type, c, at(one.c_by_row, row, column));
      for (std::size_t k = 0; k < kSide; ++k)
        sum += value_of("f16", a, at(one.a_by_row, row, k)) * value_of("f16", b, at(one.b_by_row, k, column));
      const double expected = one.d_type == "f32" ? static_cast<double>(static_cast<float>(sum))
                                                  : static_cast<double>(ptx::widen(ptx::narrowed<ptx::Half>(sum)));
      ASSERT_EQ(value_of(one.d_type, d, at(one.d_by_row, row, column)), expected) << product << " at " << row << ", " << column;
    }
  }
}

}  // namespace

void matrix_cases(Covered& covered) {
  std::mt19937 random(6);
  for (const std::string space : {"", ".global", ".shared"}) {
    for (const std::string c_type : {"f16", "f32"}) {
      for (const std::string d_type : {"f16", "f32"}) {
        for (int layouts = 0; layouts < 16; ++layouts) {
          if (space.empty() && layouts % 5 != 0) continue;
          run_case({(layouts & 1) == 0, (layouts & 2) == 0, (layouts & 4) == 0, (layouts & 8) == 0, space, c_type, d_type}, random,
                   covered);
        }
      }
    }
  }
}

}  // namespace lockstep::testing
