// Where lanes meet: post-dominators against their definition, and kernels that depend on it.
#include "simulator/gpu/ptx/control_flow.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/simulator/gpu/ptx/support/run_ptx.h"

namespace lockstep::testing {

namespace {

// Whether the end can be reached from a node without passing another one.
bool reaches_end(const ptx::FlowGraph& graph, int from, int without) {
  const int end = static_cast<int>(graph.successors.size());
  std::vector<bool> seen(static_cast<std::size_t>(end) + 1, false);
  std::vector<int> stack;
  if (from != without) stack.push_back(from);
  while (!stack.empty()) {
    const int node = stack.back();
    stack.pop_back();
    if (node == end) return true;
    if (seen[static_cast<std::size_t>(node)]) continue;
    seen[static_cast<std::size_t>(node)] = true;
    for (const int next : graph.successors[static_cast<std::size_t>(node)]) {
      if (next != without) stack.push_back(next);
    }
  }
  return false;
}

TEST(PtxControlFlow, PostDominatorsAreThoseOfTheDefinition) {
  std::mt19937 random(7);
  int graphs = 0, nodes = 0;
  for (; graphs < 300; ++graphs) {
    const int n = 2 + static_cast<int>(random() % 12);
    ptx::FlowGraph graph;
    for (int i = 0; i < n; ++i) {
      std::vector<int> next;
      const unsigned kind = random() % 8;
      if (kind > 0) next.push_back(random() % 2 == 0 ? i + 1 : static_cast<int>(random() % static_cast<unsigned>(n + 1)));
      if (kind > 3) next.push_back(static_cast<int>(random() % static_cast<unsigned>(n + 1)));
      graph.successors.push_back(next);
    }
    const std::vector<int> found = ptx::immediate_post_dominators(graph);
    for (int i = 0; i < n; ++i) {
      if (!reaches_end(graph, i, -1)) {
        EXPECT_EQ(found[static_cast<std::size_t>(i)], n);
        continue;
      }
      // All that every way passes; the immediate one is passed by the ways from i first: every other one is still ahead of it.
      std::vector<int> all;
      for (int d = 0; d <= n; ++d) {
        if (d != i && (d == n || !reaches_end(graph, i, d))) all.push_back(d);
      }
      int immediate = -1;
      for (const int d : all) {
        bool first = true;
        for (const int other : all) first = first && (other == d || other == n || (d != n && !reaches_end(graph, d, other)));
        if (first) immediate = d;
      }
      EXPECT_EQ(found[static_cast<std::size_t>(i)], immediate) << "node " << i << " of graph " << graphs;
      ++nodes;
    }
  }
  EXPECT_GT(nodes, 500);
}

const std::string kStart =
    ".visible .entry k(.param .u64 d)\n{\n.reg .b64 %o, %t, %a;\n.reg .b32 %r, %x<9>;\n.reg .pred %p, %q;\nld.param.u64 %o, [d];\nmov.u64 "
    "%a, %o;\nmov.u32 %r, "
    "%tid.x;\nmul.wide.u32 %t, %r, 4;\nadd.s64 %o, %o, %t;\n";

TEST(PtxControlFlow, LanesOfNestedBranchesMeetAtOnce) {
  std::vector<std::uint32_t> out(32, 0);
  run_text(
      kStart +
          "and.b32 %x0, %r, 1;\nsetp.eq.u32 %p, %x0, 0;\n@%p bra a;\nand.b32 %x1, %r, 2;\nsetp.eq.u32 %q, %x1, 0;\n@%q bra b;\nadd.u32 "
          "%x2, %x2, 1;\nb:\nactivemask.b32 %x3;\nbra c;\na:\nactivemask.b32 %x3;\nc:\nactivemask.b32 %x4;\nand.b32 %x3, %x3, "
          "%x4;\nst.global.u32 [%o], %x3;\nret;\n}\n",
      {{1, 1, 1}, {32, 1, 1}}, out.data());
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], i % 2 == 0 ? 0x55555555U : 0xaaaaaaaaU);
}

// Each lane takes a lock that another lane of the warp may hold: on GPUs since Volta all of them get it.
TEST(PtxControlFlow, LanesOfAWarpWaitForEachOther) {
  std::vector<std::uint32_t> memory(2, 0);
  run_text(kStart +
               "again:\natom.global.cas.b32 %x0, [%a], 0, 1;\nsetp.ne.u32 %p, %x0, 0;\n@%p bra again;\nld.global.u32 %x1, [%a+4];\nadd.u32 "
               "%x1, %x1, "
               "1;\nst.global.u32 [%a+4], %x1;\natom.global.exch.b32 %x0, [%a], 0;\nret;\n}\n",
           {{1, 1, 1}, {8, 1, 1}}, memory.data());
  EXPECT_EQ(memory[1], 8U);
}

TEST(PtxControlFlow, LanesThatLeftAreNotWaitedFor) {
  std::vector<std::uint32_t> out(64, 0);
  run_text(kStart +
               "setp.lt.u32 %p, %r, 20;\n@%p bra early;\nbar.sync 0;\nactivemask.b32 %x0;\nvote.sync.ballot.b32 %x1, %p, -1;\nadd.u32 %x0, "
               "%x0, %x1;\nst.global.u32 "
               "[%o], %x0;\nret;\nearly:\nexit;\n}\n",
           {{1, 1, 1}, {64, 1, 1}}, out.data());
  for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(out[i], i < 20 ? 0U : i < 32 ? 0xfff00000U : 0xffffffffU);
}

// A loop in which lanes leave one by one, with a call inside: every lane counts its own rounds.
TEST(PtxControlFlow, CallsInsideDivergentLoops) {
  const std::string function =
      ".func (.param .b32 r) half(.param .b32 x)\n{\n.reg .b32 %a;\n.reg .pred %p;\nld.param.b32 %a, [x];\nand.b32 %a, %a, 1;\nsetp.eq.u32 "
      "%p, %a, 0;\n@%p bra even;\nld.param.b32 %a, "
      "[x];\nmad.lo.u32 %a, %a, 3, 1;\nst.param.b32 [r+0], %a;\nret;\neven:\nld.param.b32 %a, [x];\nshr.u32 %a, %a, 1;\nst.param.b32 "
      "[r+0], %a;\nret;\n}\n";
  std::vector<std::uint32_t> out(64, 0);
  run_text(function + kStart +
               "add.u32 %x0, %r, 1;\nmov.u32 %x1, 0;\nagain:\nsetp.eq.u32 %p, %x0, 1;\n@%p bra done;\n{\n.param .b32 p0;\nst.param.b32 "
               "[p0+0], %x0;\n.param .b32 q0;\ncall.uni (q0), "
               "half, (p0);\nld.param.b32 %x0, [q0+0];\n}\nadd.u32 %x1, %x1, 1;\nbra again;\ndone:\nst.global.u32 [%o], %x1;\nret;\n}\n",
           {{1, 1, 1}, {64, 1, 1}}, out.data());
  for (std::uint32_t i = 0; i < 64; ++i) {
    std::uint32_t steps = 0;
    for (std::uint64_t n = i + 1; n != 1; ++steps) n = n % 2 == 0 ? n / 2 : 3 * n + 1;
    EXPECT_EQ(out[i], steps) << i + 1;
  }
}

}  // namespace

}  // namespace lockstep::testing
