// mma and ldmatrix against plain loops, and cp.async: what is in shared memory before and after a thread waits.
#include <gtest/gtest.h>

#include <bit>
#include <random>

#include "simulator/gpu/ptx/error.h"
#include "simulator/gpu/ptx/narrowing.h"
#include "tests/simulator/gpu/ptx/support/run_ptx.h"
#include "tests/simulator/gpu/ptx/support/special_cases.h"

namespace lockstep::testing {

namespace {

std::string list(const std::string& name, int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i) text += (i > 0 ? ", %" : "%") + name + std::to_string(i);
  return text + "}";
}

// One element as its type has it: its bits, and its value.
struct Element {
  std::uint32_t bits;
  double value;
};
Element drawn(const std::string& type, std::mt19937& random) {
  std::normal_distribution<float> normal;
  const float number = normal(random);
  if (type == "f32") return {std::bit_cast<std::uint32_t>(number), static_cast<double>(number)};
  if (type == "tf32") {  // the bits that do not count are not zero
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(number);
    return {bits | 0x1234U, static_cast<double>(std::bit_cast<float>(bits & ~0x1fffU))};
  }
  if (type == "f16") {
    const ptx::Half half = ptx::narrowed<ptx::Half>(static_cast<double>(number));
    return {half.bits, static_cast<double>(ptx::widen(half))};
  }
  const ptx::Bfloat narrow = ptx::narrowed<ptx::Bfloat>(static_cast<double>(number));
  return {narrow.bits, static_cast<double>(ptx::widen(narrow))};
}

// The registers of a lane as PTX's tables say it: where element i of a, b and c is, with group = lane / 4 and place = lane % 4.
struct Where {
  std::size_t row, column;
};
Where of_a(bool wide, std::size_t group, std::size_t place, std::size_t i) {
  if (wide) return {i % 2 == 0 ? group : group + 8, i < 2 ? place : place + 4};
  return {i % 4 < 2 ? group : group + 8, place * 2 + i % 2 + (i < 4 ? 0 : 8)};
}
Where of_b(bool wide, std::size_t group, std::size_t place, std::size_t i) {
  if (wide) return {i == 0 ? place : place + 4, group};
  return {place * 2 + i % 2 + (i < 2 ? 0 : 8), group};
}
Where of_c(std::size_t group, std::size_t place, std::size_t i) { return {i < 2 ? group : group + 8, place * 2 + i % 2}; }

void run_product(const std::string& type, const std::string& sums, std::size_t depth, std::mt19937& random, Covered& covered) {
  const std::string name = "mma.sync.aligned.m16n8k" + std::to_string(depth) + ".row.col." + sums + "." + type + "." + type + "." + sums;
  covered.insert(name);
  const bool wide = type == "tf32", wide_sums = sums == "f32";
  const std::size_t in_word = wide ? 1 : 2, a_words = depth * 16 / 32 / in_word, b_words = depth * 8 / 32 / in_word,
                    c_words = wide_sums ? 4 : 2;
  const std::size_t words = a_words + b_words + c_words;
  double a[16][16] = {}, b[16][8] = {}, c[16][8] = {};
  std::vector<std::uint32_t> source(32 * words), result(32 * c_words);
  const auto put = [](std::uint32_t* to, std::size_t i, std::size_t each, std::uint32_t bits) {
    to[i / each] |= bits << (16 * (i % each));
  };
  for (std::size_t lane = 0; lane < 32; ++lane) {
    std::uint32_t* const mine = source.data() + words * lane;
    const auto fill = [&](std::uint32_t* to, std::size_t count, std::size_t each, const std::string& of, const auto& where, auto& matrix) {
      for (std::size_t i = 0; i < count * each; ++i) {
        const Element element = drawn(of, random);
        const Where at = where(i);
        matrix[at.row][at.column] = element.value;
        put(to, i, each, element.bits);
      }
    };
    fill(
        mine, a_words, in_word, type, [&](std::size_t i) { return of_a(wide, lane / 4, lane % 4, i); }, a);
    fill(
        mine + a_words, b_words, in_word, type, [&](std::size_t i) { return of_b(wide, lane / 4, lane % 4, i); }, b);
    fill(
        mine + a_words + b_words, c_words, wide_sums ? 1 : 2, sums, [&](std::size_t i) { return of_c(lane / 4, lane % 4, i); }, c);
  }
  std::string text =
      ".visible .entry k(.param .u64 d, .param .u64 s)\n{\n.reg .b64 %o, %s, %t;\n.reg .b32 %r, %a<4>, %b<2>, %h<2>, %e<2>;\n.reg .f32 "
      "%f<4>, "
      "%g<4>;\nld.param.u64 %o, [d];\nld.param.u64 %s, [s];\nmov.u32 %r, %tid.x;\nmul.wide.u32 %t, %r, " +
      std::to_string(4 * words) + ";\nadd.s64 %s, %s, %t;\nmul.wide.u32 %t, %r, " + std::to_string(4 * c_words) +
      ";\nadd.s64 %o, %o, %t;\n";
  std::size_t at = 0;
  const auto load = [&](const std::string& to, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i, ++at)
      text += "ld.global.b32 %" + to + std::to_string(i) + ", [%s+" + std::to_string(4 * at) + "];\n";
  };
  load("a", a_words);
  load("b", b_words);
  load(wide_sums ? "f" : "h", c_words);
  const std::string to = wide_sums ? "g" : "e";
  text += name + " " + list(to, static_cast<int>(c_words)) + ", " + list("a", static_cast<int>(a_words)) + ", " +
          list("b", static_cast<int>(b_words)) + ", " + list(wide_sums ? "f" : "h", static_cast<int>(c_words)) + ";\n";
  for (std::size_t i = 0; i < c_words; ++i) text += "st.global.b32 [%o+" + std::to_string(4 * i) + "], %" + to + std::to_string(i) + ";\n";
  run_text(text + "ret;\n}\n", {{1, 1, 1}, {32, 1, 1}}, result.data(), source.data());
  for (std::size_t lane = 0; lane < 32; ++lane) {
    for (std::size_t i = 0; i < 4; ++i) {
      const Where place = of_c(lane / 4, lane % 4, i);
      double sum = c[place.row][place.column];
      for (std::size_t k = 0; k < depth; ++k) sum += a[place.row][k] * b[k][place.column];
      const std::uint32_t expected =
          wide_sums ? std::bit_cast<std::uint32_t>(static_cast<float>(sum)) : std::uint32_t{ptx::narrowed<ptx::Half>(sum).bits};
      const std::uint32_t got = wide_sums ? result[4 * lane + i] : result[2 * lane + i / 2] >> (16 * (i % 2)) & 0xffffU;
      ASSERT_EQ(got, expected) << name << " at " << place.row << ", " << place.column;
    }
  }
}

// Rows of the matrices stand in shared memory in a mixed order, 48 bytes apart.
void run_load(int matrices, bool transposed, const std::string& space, Covered& covered) {
  const std::string name = "ldmatrix.sync.aligned.m8n8.x" + std::to_string(matrices) + (transposed ? ".trans" : "") + space + ".b16";
  covered.insert(name);
  std::string text =
      ".visible .entry k(.param .u64 d)\n{\n.shared .align 16 .b8 m[1536];\n.reg .b64 %o, %t, %g;\n.reg .b32 %r, %a, %b, %v, %w<4>;\n"
      "ld.param.u64 %o, [d];\nmov.u32 %r, %tid.x;\nmul.lo.s32 %b, %r, 5;\nand.b32 %b, %b, 31;\nmov.u32 %a, m;\nmad.lo.s32 %a, %b, 48, "
      "%a;\n";
  for (int i = 0; i < 4; ++i) {  // elements of row r are 8 r, 8 r + 1, ...
    text += "mul.lo.s32 %v, %r, 0x80008;\nadd.u32 %v, %v, " + std::to_string((2 * i + 1) << 16 | 2 * i) + ";\nst.shared.u32 [%a+" +
            std::to_string(4 * i) + "], %v;\n";
  }
  text += "bar.sync 0;\n";
  if (space.empty()) text += "cvt.u64.u32 %g, %a;\ncvta.shared.u64 %g, %g;\n";
  text += name + " " + list("w", matrices) + ", [" + (space.empty() ? "%g" : "%a") + "];\nmul.wide.u32 %t, %r, " +
          std::to_string(4 * matrices) + ";\nadd.s64 %o, %o, %t;\n";
  for (int i = 0; i < matrices; ++i) text += "st.global.u32 [%o+" + std::to_string(4 * i) + "], %w" + std::to_string(i) + ";\n";
  std::vector<std::uint32_t> result(static_cast<std::size_t>(32 * matrices));
  run_text(text + "ret;\n}\n", {{1, 1, 1}, {32, 1, 1}}, result.data());
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    for (std::uint32_t matrix = 0; matrix < static_cast<std::uint32_t>(matrices); ++matrix) {
      std::uint32_t expected = 0;
      for (std::uint32_t half = 0; half < 2; ++half) {
        const std::uint32_t outer = lane / 4, inner = lane % 4 * 2 + half;
        const std::uint32_t row = transposed ? inner : outer, column = transposed ? outer : inner;
        expected |= (8 * (8 * matrix + row) + column) << (16 * half);
      }
      ASSERT_EQ(result[lane * static_cast<std::uint32_t>(matrices) + matrix], expected) << name << ", lane " << lane;
    }
  }
}

// Begins copies as `copies` says, waits as `waits` says, and gives the 64 bytes of shared memory of thread 1, which were all ones.
std::vector<std::uint8_t> after_copies(const std::string& copies, const std::string& waits) {
  static std::vector<std::uint8_t> source(512), result(128);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::uint8_t>(i % 251);
  std::string text =
      ".visible .entry k(.param .u64 d, .param .u64 s)\n{\n.shared .align 16 .b8 m[128];\n.reg .b64 %o, %s, %t;\n.reg .b32 %r, %a, %n, "
      "%w;\n"
      "ld.param.u64 %o, [d];\nld.param.u64 %s, [s];\nmov.u32 %r, %tid.x;\nmul.wide.u32 %t, %r, 64;\nadd.s64 %o, %o, %t;\nadd.s64 %s, %s, "
      "%t;\n"
      "mov.u32 %a, m;\nmad.lo.s32 %a, %r, 64, %a;\nmov.u32 %n, 3;\n" +
      copies + waits;
  for (int i = 0; i < 64; i += 4)
    text += "ld.shared.u32 %w, [%a+" + std::to_string(i) + "];\nst.global.u32 [%o+" + std::to_string(i) + "], %w;\n";
  run_text(text + "ret;\n}\n", {{1, 1, 1}, {2, 1, 1}}, result.data(), source.data());
  return {result.begin() + 64, result.end()};
}

void expect_copied(const std::string& copies, const std::string& waits, std::size_t at, std::size_t from, std::size_t count,
                   std::size_t bytes) {
  const std::vector<std::uint8_t> got = after_copies(copies, waits);
  for (std::size_t i = 0; i < 64; ++i) {
    const bool inside = i >= at && i < at + bytes;
    const std::size_t value = !inside ? 255 : i < at + count ? (64 + from + i - at) % 251 : 0;
    ASSERT_EQ(got[i], value) << copies << waits << "byte " << i;
  }
}

}  // namespace

void tile_cases(Covered& covered) {
  std::mt19937 random(8);
  for (const std::size_t depth : {std::size_t{8}, std::size_t{16}}) {
    run_product("f16", "f32", depth, random, covered);
    run_product("f16", "f16", depth, random, covered);
    run_product("bf16", "f32", depth, random, covered);
    run_product("tf32", "f32", depth / 2, random, covered);
  }
  for (const std::string space : {"", ".shared"}) {
    for (const int matrices : {1, 2, 4}) {
      for (const bool transposed : {false, true}) run_load(matrices, transposed, space, covered);
    }
  }
}

void copy_cases(Covered& covered) {
  const std::string all = "cp.async.wait_all;\n", commit = "cp.async.commit_group;\n";
  for (const std::string opcode : {"cp.async.ca.shared.global", "cp.async.cg.shared.global"}) {
    const bool large_only = opcode == "cp.async.cg.shared.global";
    for (const std::size_t bytes : {std::size_t{4}, std::size_t{8}, std::size_t{16}}) {
      const std::string copy = opcode + " [%a+16], [%s+32], " + std::to_string(bytes);
      if (large_only && bytes < 16) {
        EXPECT_THROW(after_copies(copy + ";\n", all), ptx::Error);
        continue;
      }
      expect_copied(copy + ";\n", "", 16, 32, 0, 0);  // not waited for
      expect_copied(copy + ";\n", all, 16, 32, bytes, bytes);
      expect_copied(copy + ";\n" + commit, "cp.async.wait_group 0;\n", 16, 32, bytes, bytes);
      expect_copied(copy + ";\n", "cp.async.wait_group 0;\n", 16, 32, 0, 0);  // not committed
      expect_copied(copy + ";\n" + commit, "cp.async.wait_group 1;\n", 16, 32, 0, 0);
      expect_copied(copy + ";\n" + commit + commit, "cp.async.wait_group 1;\n", 16, 32, bytes, bytes);
      expect_copied(copy + ", %n;\n", all, 16, 32, 3, bytes);
      expect_copied(copy + ", 0;\n", all, 16, 32, 0, bytes);
      EXPECT_THROW(after_copies(copy + ", 17;\n", all), ptx::Error);
      EXPECT_THROW(after_copies(opcode + " [%a+16], [%s+34], " + std::to_string(bytes) + ";\n", all), ptx::Error);
    }
    covered.insert(opcode);
    covered.insert(opcode + "/part");
  }
  // From nowhere, where no byte of it is read.
  expect_copied("mov.u64 %s, 0;\ncp.async.ca.shared.global.L2::128B [%a], [%s], 8, 0;\n", all, 0, 0, 0, 8);
  EXPECT_THROW(after_copies("cp.async.ca.shared.global [%a], [%s], 12;\n", all), ptx::Error);
  covered.insert({"cp.async.commit_group", "cp.async.wait_group", "cp.async.wait_all"});
}

}  // namespace lockstep::testing
