// Which operations have cases of their own; carries and moves.
#include "tests/simulator/gpu/ptx/support/special_cases.h"

#include <gtest/gtest.h>

#include <random>

#include "simulator/gpu/ptx/machine.h"
#include "simulator/gpu/ptx/special_registers.h"
#include "tests/simulator/gpu/ptx/support/run_ptx.h"

namespace lockstep::testing {

namespace {
__extension__ typedef unsigned __int128 Wide;  // NOLINT(modernize-use-using)
}

bool has_special_case(const ptx::Operation& operation) {
  const std::string& name = operation.name;
  for (const char* start : {"add.cc", "addc", "sub.cc", "subc", "mad.lo.cc", "mad.hi.cc", "madc", "cvta", "isspacep"}) {
    if (starts_with(name, start)) return true;
  }
  return false;
}

std::set<std::string> run_special_cases() {
  Covered covered;
  memory_cases(covered);
  atomic_cases(covered);
  exchange_cases(covered);
  move_cases(covered);
  carry_cases(covered);
  control_cases(covered);
  matrix_cases(covered);
  tile_cases(covered);
  copy_cases(covered);
  return covered;
}

// A carry goes in from an addition that has or has not one, and comes out into another addition.
void carry_cases(Covered& covered) {
  std::mt19937_64 random(3);
  for (const ptx::Operation& operation : ptx::operations().all()) {
    const std::string& name = operation.name;
    if (!has_special_case(operation) || starts_with(name, "cvta") || starts_with(name, "isspacep")) continue;
    covered.insert(name);
    const int bytes = operation.parameters[0].bytes, width = 8 * bytes;
    const bool multiplies = starts_with(name, "mad"), subtracts = starts_with(name, "sub");
    const bool in = name[3] == 'c', out = name.find(".cc") != std::string::npos;
    const std::string b = "b" + std::to_string(width);
    const std::string text =
        ".visible .entry k(.param .u64 d, .param .u64 s)\n{\n.reg .b64 %o, %i, %t;\n.reg .b32 %r, %c;\n.reg ." + b + " %x<9>;\n" +
        "ld.param.u64 %o, [d];\nld.param.u64 %i, [s];\nmov.u32 %r, %tid.x;\nmul.wide.u32 %t, %r, 32;\nadd.s64 %i, %i, %t;\n" +
        "mul.wide.u32 %t, %r, 16;\nadd.s64 %o, %o, %t;\nld.global." + b + " %x1, [%i];\nld.global." + b + " %x2, [%i+8];\nld.global." + b +
        " %x3, [%i+16];\nld.global.u32 %c, [%i+24];\nadd.cc.u32 %c, %c, -1;\n" + name + " %x0, %x1, %x2" + (multiplies ? ", %x3" : "") +
        ";\naddc.u32 %c, 0, 0;\nst.global." + b + " [%o], %x0;\nst.global.u32 [%o+8], %c;\nret;\n}\n";
    std::vector<std::uint64_t> source(64 * 4), result(64 * 2, 0);
    const std::uint64_t mask = width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
    for (std::size_t i = 0; i < source.size(); ++i) {
      source[i] = i % 4 == 3 ? random() % 2 : (random() % 4 == 0 ? (random() % 2 == 0 ? ~std::uint64_t{0} : 0) : random()) & mask;
    }
    run_text(text, {{1, 1, 1}, {64, 1, 1}}, result.data(), source.data());
    for (std::size_t i = 0; i < 64; ++i) {
      const std::uint64_t a = source[4 * i], second = source[4 * i + 1], third = source[4 * i + 2], carry = source[4 * i + 3];
      Wide first = a, added = second;
      if (multiplies) {
        const bool is_signed = name[name.size() - 3] == 's';
        const auto extend = [&](std::uint64_t value) {
          const bool negative = is_signed && (value >> (width - 1) & 1U) != 0;
          return negative ? static_cast<Wide>(value) - (Wide{1} << width) : static_cast<Wide>(value);
        };
        const Wide product = extend(a) * extend(second);
        first = (name.find(".hi") != std::string::npos ? product >> width : product) & mask;
        added = third;
      }
      const Wide used = in ? carry : 0;
      const Wide total = subtracts ? (Wide{1} << width) + first - added - used : first + added + used;
      const bool carried = subtracts ? (total >> width) == 0 : (total >> width) != 0;
      ASSERT_EQ(result[2 * i], static_cast<std::uint64_t>(total & mask))
          << name << " of " << a << ", " << second << ", " << third << ", carry " << carry;
      ASSERT_EQ(result[2 * i + 1], out ? carried : carry)
          << name << ": the carry of " << a << ", " << second << ", " << third << ", carry " << carry;
    }
  }
}

void move_cases(Covered& covered) {
  const auto cover = [&](const std::string& name) {
    ASSERT_NE(ptx::operations().find(name), nullptr) << name;
    covered.insert(name);
  };
  // Where a thread is: threads of (5, 4, 3) in a grid of (2, 3, 2).
  const ptx::Dim block{5, 4, 3}, grid{2, 3, 2};
  for (const auto& special : ptx::special_registers()) {
    for (const char kind : {'b', 'u', 's'}) {
      const std::string type = kind + std::to_string(8 * special.bytes), name = std::string(special.name);
      const std::string text =
          ".visible .entry k(.param .u64 d)\n{\n.reg .b64 %o, %t;\n.reg .b32 %x<9>;\n.reg .b" + std::to_string(8 * special.bytes) +
          " %v;\nld.param.u64 %o, [d];\nmov.u32 %x1, %tid.x;\nmov.u32 %x2, %tid.y;\nmov.u32 %x3, %tid.z;\nmad.lo.s32 %x2, %x3, 4, %x2;\n" +
          "mad.lo.s32 %x1, %x2, 5, %x1;\nmov.u32 %x4, %ctaid.x;\nmov.u32 %x5, %ctaid.y;\nmov.u32 %x6, %ctaid.z;\nmad.lo.s32 %x5, %x6, 3, "
          "%x5;\n" +
          "mad.lo.s32 %x4, %x5, 2, %x4;\nmad.lo.s32 %x1, %x4, 60, %x1;\nmul.wide.u32 %t, %x1, 8;\nadd.s64 %o, %o, %t;\nmov." + type +
          " %v, " + name + ";\nst.global." + type + " [%o], %v;\nret;\n}\n";
      std::vector<std::uint64_t> result(12 * 60, 0);
      run_text(text, {grid, block, 0}, result.data());
      for (std::uint64_t i = 0; i < result.size(); ++i) {
        const std::uint64_t t = i % 60, b = i / 60, lane = t % 32;
        std::uint64_t expected = result[i];
        if (name == "%tid.x")
          expected = t % 5;
        else if (name == "%tid.y")
          expected = t / 5 % 4;
        else if (name == "%tid.z")
          expected = t / 20;
        else if (name == "%ntid.x")
          expected = 5;
        else if (name == "%ntid.y")
          expected = 4;
        else if (name == "%ntid.z")
          expected = 3;
        else if (name == "%ctaid.x")
          expected = b % 2;
        else if (name == "%ctaid.y")
          expected = b / 2 % 3;
        else if (name == "%ctaid.z")
          expected = b / 6;
        else if (name == "%nctaid.x" || name == "%nctaid.z")
          expected = 2;
        else if (name == "%nctaid.y")
          expected = 3;
        else if (name == "%laneid")
          expected = lane;
        else if (name == "%warpid")
          expected = t / 32;
        else if (name == "%nwarpid")
          expected = 32;
        else if (name == "%smid")
          expected = b % 40;
        else if (name == "%nsmid")
          expected = 40;
        else if (name == "%gridid" || name == "%clock_hi" || name == "%dynamic_smem_size" || name == "%total_smem_size")
          expected = 0;
        else if (name == "%lanemask_eq")
          expected = std::uint64_t{1} << lane;
        else if (name == "%lanemask_lt")
          expected = (std::uint64_t{1} << lane) - 1;
        else if (name == "%lanemask_le")
          expected = (std::uint64_t{2} << lane) - 1;
        else if (name == "%lanemask_gt")
          expected = 0xffffffffU & ~((std::uint64_t{2} << lane) - 1);
        else if (name == "%lanemask_ge")
          expected = 0xffffffffU & ~((std::uint64_t{1} << lane) - 1);
        else
          ASSERT_TRUE(name == "%clock" || name == "%clock64" || name == "%globaltimer") << name;
        if (name == "%clock" || name == "%clock64" || name == "%globaltimer") {
          ASSERT_GT(result[i], 0U) << name;
          if (lane != 0) {  // lanes of a warp read it together
            ASSERT_EQ(result[i], result[i - 1]) << name;
          }
        }
        ASSERT_EQ(result[i], expected) << name << " in thread " << t << " of block " << b;
      }
      cover("mov." + type + " " + name);
    }
  }
  // Packing and unpacking, addresses of local memory, and windows of generic addresses.
  std::vector<std::uint64_t> in = {0x1122334455667788U}, out(16, 0);
  run_text(
      ".visible .entry k(.param .u64 d, .param .u64 s)\n{\n.reg .b64 %o, %i, %v<9>;\n.reg .b32 %r<9>;\n.reg .b16 %h<9>;\nld.param.u64 %o, "
      "[d];\nld.param.u64 %i, [s];\n"
      "ld.global.u64 %v0, [%i];\nmov.b64 {%r0, %r1}, %v0;\nmov.b64 %v1, {%r1, %r0};\nst.global.u64 [%o], %v1;\nmov.b64 {%h0, %h1, %h2, "
      "%h3}, %v0;\n"
      "mov.b64 %v2, {%h3, %h2, %h1, %h0};\nst.global.u64 [%o+8], %v2;\nmov.b32 {%h4, _}, %r0;\nmov.b32 %r2, {%h4, %h1};\nst.global.u32 "
      "[%o+16], %r2;\nret;\n}\n",
      {{1, 1, 1}, {1, 1, 1}}, out.data(), in.data());
  EXPECT_EQ(out[0], 0x5566778811223344U);
  EXPECT_EQ(out[1], 0x7788556633441122U);
  EXPECT_EQ(out[2], 0x55667788U);
  for (const char* name : {"mov.b64.pack2", "mov.b64.unpack2", "mov.b64.pack4", "mov.b64.unpack4", "mov.b32.pack2", "mov.b32.unpack2"})
    cover(name);
  for (const std::string type : {"b32", "u32", "s32", "b64", "u64", "s64"}) {
    std::vector<std::uint32_t> word(1, 0);
    run_text(".visible .entry k(.param .u64 d)\n{\n.local .align 8 .b8 a[8];\n.local .align 8 .b8 x[16];\n.reg .b64 %o;\n.reg ." + type +
                 " %v;\n.reg .b32 %r;\nld.param.u64 %o, [d];\nmov." + type +
                 " %v, x;\nst.local.u32 [x+4], 77;\nld.local.u32 %r, [%v+4];\nst.global.u32 [%o], %r;\nret;\n}\n",
             {{1, 1, 1}, {1, 1, 1}}, word.data());
    EXPECT_EQ(word[0], 77U) << type;
    cover("mov." + type + ".frame");
  }
  for (const std::string space : {"global", "const", "shared", "local", "param"}) {
    const std::string variable = space == "param" ? "p" : "v";
    const std::string declared = space == "global" || space == "const" ? "." + space + " .align 4 .u32 v = 123;\n" : "";
    const std::string inside = space == "shared" || space == "local" ? "." + space + " .align 4 .b8 v[4];\n" : "";
    const std::string fill = space == "shared" || space == "local" ? "st." + space + ".u32 [v], 123;\n" : "";
    std::vector<std::uint32_t> word(8, 0);
    run_text(
        declared + ".visible .entry k(.param .u64 d, .param .u32 p)\n{\n" + inside +
            ".reg .b64 %o, %a, %b, %c;\n.reg .b32 %r;\n.reg .pred %p<4>;\nld.param.u64 %o, [d];\n" + fill + "mov.u64 %a, " + variable +
            ";\ncvta." + space + ".u64 %b, %a;\nld.u32 %r, [%b];\nst.global.u32 [%o], %r;\ncvta.to." + space + ".u64 %c, %b;\nld." + space +
            ".u32 %r, [%c];\nst.global.u32 [%o+4], %r;\nisspacep.global %p0, %b;\nisspacep.shared %p1, %b;\nisspacep.local %p2, %b;\n" +
            "selp.u32 %r, 1, 0, %p0;\nst.global.u32 [%o+8], %r;\nselp.u32 %r, 1, 0, %p1;\nst.global.u32 [%o+12], %r;\nselp.u32 %r, 1, 0, "
            "%p2;\n" +
            "st.global.u32 [%o+16], %r;\nret;\n}\n",
        {{1, 1, 1}, {1, 1, 1}}, word.data(), std::uint32_t{123});
    EXPECT_EQ(word[0], 123U) << space;
    EXPECT_EQ(word[1], 123U) << space;
    EXPECT_EQ(word[3], space == "shared" ? 1U : 0U) << space;
    EXPECT_EQ(word[4], space == "local" ? 1U : 0U) << space;
    EXPECT_EQ(word[2], space == "shared" || space == "local" ? 0U : 1U) << space;
    cover("cvta." + space + ".u64");
    cover("cvta.to." + space + ".u64");
  }
  for (const char* name : {"isspacep.global", "isspacep.shared", "isspacep.local"}) cover(name);
}

}  // namespace lockstep::testing
