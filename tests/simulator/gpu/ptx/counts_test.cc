// Counts of small kernels against closed forms.
#include "simulator/gpu/ptx/counts.h"

#include <gtest/gtest.h>

#include <iostream>
#include <numeric>

#include "tests/simulator/gpu/ptx/support/run_ptx.h"

namespace lockstep::testing {

namespace {

using ptx::Count;
using ptx::Space;

// One warp; `body` finds its thread in %r and the buffer in %o.
Count counted(const std::string& body, std::uint32_t threads = 32, const std::string& variables = "") {
  alignas(128) static unsigned char memory[1 << 16];
  const ptx::Module module(
      module_of(".visible .entry k(.param .u64 d)\n{\n" + variables +
                ".reg .b64 %o, %t, %l<5>;\n.reg .b32 %r, %x<9>;\n.reg .pred %p, %q;\nld.param.u64 %o, [d];\nmov.u32 %r, %tid.x;\n" + body +
                "ret;\n}\n"));
  ptx::Counts counts;
  run_kernel(module, "k", {{1, 1, 1}, {threads, 1, 1}}, &counts, nullptr, static_cast<void*>(memory));
  return counts.of(*module.kernel("k"));
}

std::string at(std::uint64_t stride, std::uint64_t offset) {
  return "mul.wide.u32 %t, %r, " + std::to_string(stride) + ";\nadd.s64 %t, %t, " + std::to_string(offset) + ";\nadd.s64 %o, %o, %t;\n";
}

int cases = 0;

void expect_global(const std::string& what, const Count& count, std::uint64_t sectors, std::uint64_t fewest, std::uint64_t bytes) {
  ++cases;
  EXPECT_EQ(count.requests, 1U) << what;
  EXPECT_EQ(count.sectors, sectors) << what;
  EXPECT_EQ(count.fewest, fewest) << what;
  EXPECT_EQ(count.bytes_of(Space::global), bytes) << what;
}

}  // namespace

TEST(PtxCounts, SectorsOfGlobalMemory) {
  using std::to_string;
  expect_global("broadcast", counted(at(0, 0) + "ld.global.u32 %x0, [%o];\n"), 1, 1, 128);
  for (std::uint64_t stride = 4; stride <= 32; stride += 4) {  // less than a sector apart: every sector on the way
    expect_global("stride " + to_string(stride), counted(at(stride, 0) + "ld.global.u32 %x0, [%o];\n"), stride, 4, 128);
  }
  for (const std::uint64_t stride : {64U, 128U, 132U, 512U}) {
    expect_global("stride " + to_string(stride), counted(at(stride, 0) + "st.global.u32 [%o], %r;\n"), 32, 4, 128);
  }
  for (std::uint64_t offset = 4; offset < 32; offset += 4) {
    expect_global("misaligned by " + to_string(offset), counted(at(4, offset) + "ld.global.u32 %x0, [%o];\n"), 5, 4, 128);
  }
  expect_global("32 bytes further", counted(at(4, 32) + "ld.global.u32 %x0, [%o];\n"), 4, 4, 128);
  expect_global("vectors of 2", counted(at(8, 0) + "ld.global.v2.u32 {%x0, %x1}, [%o];\n"), 8, 8, 256);
  expect_global("vectors of 4", counted(at(16, 0) + "ld.global.v4.u32 {%x0, %x1, %x2, %x3}, [%o];\n"), 16, 16, 512);
  expect_global("misaligned vectors of 4", counted(at(16, 16) + "ld.global.v4.u32 {%x0, %x1, %x2, %x3}, [%o];\n"), 17, 16, 512);
  expect_global("bytes", counted(at(1, 0) + "ld.global.u8 %x0, [%o];\n"), 1, 1, 32);
  expect_global("doubles", counted(at(8, 0) + "ld.global.u64 %l0, [%o];\n"), 8, 8, 256);
  expect_global("generic", counted(at(4, 0) + "ld.u32 %x0, [%o];\n"), 4, 4, 128);
  for (const std::uint32_t threads : {1U, 8U, 9U, 24U}) {
    expect_global(to_string(threads) + " threads", counted(at(4, 0) + "ld.global.u32 %x0, [%o];\n", threads), (threads + 7) / 8,
                  (threads + 7) / 8, 4 * threads);
  }
  expect_global("guarded", counted(at(4, 0) + "setp.lt.u32 %p, %r, 8;\n@%p ld.global.u32 %x0, [%o];\n"), 1, 1, 32);
  std::cout << cases << " cases so far\n";
}

TEST(PtxCounts, BanksOfSharedMemory) {
  const std::string variable = ".shared .align 16 .b8 v[8192];\n";
  const auto shared = [&](std::uint64_t stride, const std::string& access) {
    return counted("mov.u32 %x5, v;\nmad.lo.u32 %x6, %r, " + std::to_string(stride) + ", %x5;\n" + access, 32, variable);
  };
  for (std::uint64_t words = 0; words <= 33; ++words) {  // as many ways as the stride and 32 have in common
    const Count count = shared(4 * words, "ld.shared.u32 %x0, [%x6];\n");
    ++cases;
    EXPECT_EQ(count.shared_requests, 1U);
    EXPECT_EQ(count.passes, words == 0 ? 1 : std::gcd(words, std::uint64_t{32})) << words << " words apart";
    EXPECT_EQ(count.fewest_passes, 1U);
    EXPECT_EQ(count.bytes_of(Space::shared), 128U);
  }
  const Count two = shared(8, "st.shared.v2.u32 [%x6], {%r, %r};\n"), four = shared(16, "st.shared.v4.u32 [%x6], {%r, %r, %r, %r};\n");
  EXPECT_EQ(two.passes, 2U);
  EXPECT_EQ(two.fewest_passes, 2U);
  EXPECT_EQ(four.passes, 4U);
  EXPECT_EQ(four.fewest_passes, 4U);
  const Count far = shared(16, "st.shared.v2.u32 [%x6], {%r, %r};\n");
  EXPECT_EQ(far.passes, 4U);
  EXPECT_EQ(far.fewest_passes, 2U);
  cases += 3;
  std::cout << cases << " cases so far\n";
}

TEST(PtxCounts, DivergenceAndLanes) {
  for (std::uint32_t k = 0; k <= 32; k += 4) {  // the first k lanes do one instruction more
    const Count count =
        counted("setp.ge.u32 %p, %r, " + std::to_string(k) + ";\n@%p bra join;\nadd.u32 %x0, %r, 1;\njoin:\nadd.u32 %x1, %r, 2;\n");
    ++cases;
    EXPECT_EQ(count.branches, 1U);
    EXPECT_EQ(count.divergent, k > 0 && k < 32 ? 1U : 0U) << k;
    EXPECT_EQ(count.by_kind[static_cast<int>(ptx::Kind::integer)], k > 0 ? 2U : 1U);
    EXPECT_EQ(count.instructions, 6U + (k > 0 ? 1 : 0));
    EXPECT_EQ(count.lanes, 32 * 6 + k);
  }
  // A loop that lane i runs i + 1 times: 32 rounds, all but the last of which lose a lane.
  const Count loop = counted("mov.u32 %x0, 0;\nagain:\nadd.u32 %x0, %x0, 1;\nsetp.le.u32 %p, %x0, %r;\n@%p bra again;\n");
  EXPECT_EQ(loop.branches, 32U);
  EXPECT_EQ(loop.divergent, 31U);
  EXPECT_EQ(loop.by_kind[static_cast<int>(ptx::Kind::compare)], 32U);
  EXPECT_EQ(loop.by_kind[static_cast<int>(ptx::Kind::integer)], 32U);
  // Both halves of a branch: each instruction once, with half of the lanes; after it all are together.
  const Count both = counted(
      "and.b32 %x0, %r, 1;\nsetp.eq.u32 %p, %x0, 0;\n@%p bra even;\nmul.lo.u32 %x1, %r, 3;\nbra join;\neven:\nmul.lo.u32 %x1, %r, "
      "5;\njoin:\nadd.u32 %x1, %x1, 1;\n");
  EXPECT_EQ(both.divergent, 1U);
  EXPECT_EQ(both.by_kind[static_cast<int>(ptx::Kind::integer)], 4U);
  EXPECT_EQ(both.lanes, 32U * 7 + 16 * 3);
  cases += 2;
  std::cout << cases << " cases so far\n";
}

TEST(PtxCounts, ContentionOfAtomics) {
  for (const std::uint32_t k : {1U, 2U, 4U, 8U, 16U, 32U}) {  // k lanes at each place
    const Count count = counted("div.u32 %x0, %r, " + std::to_string(k) +
                                ";\nmul.wide.u32 %t, %x0, 4;\nadd.s64 %o, %o, %t;\nred.global.add.u32 [%o], 1;\n");
    ++cases;
    EXPECT_EQ(count.atomics, 1U);
    EXPECT_EQ(count.turns, k);
    EXPECT_EQ(count.sectors, 32 / k >= 8 ? 32 / k / 8 : 1);
  }
  std::cout << cases << " cases in all\n";
}

TEST(PtxCounts, GoByLineOfTheSource) {
  const ptx::Module module(
      module_of(".file 1 \"sum.cu\"\n.visible .entry k(.param .u64 d)\n{\n.reg .b64 %o;\n.reg .b32 %r;\n.loc 1 10 3\nld.param.u64 %o, "
                "[d];\n.loc 1 11 3\nmov.u32 %r, %tid.x;\n"
                "st.global.u32 [%o], %r;\n.loc 1 12 1\nret;\n}\n"));
  std::uint32_t word = 0;
  ptx::Counts counts;
  run_kernel(module, "k", {{3, 1, 1}, {32, 1, 1}}, &counts, nullptr, &word);
  const auto lines = counts.by_line(module, *module.kernel("k"));
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0].file, "sum.cu");
  EXPECT_EQ(lines[0].line, 10);
  EXPECT_EQ(lines[0].count.instructions, 3U);
  EXPECT_EQ(lines[1].line, 11);
  EXPECT_EQ(lines[1].count.instructions, 6U);
  EXPECT_EQ(lines[1].count.requests, 3U);
}

}  // namespace lockstep::testing
