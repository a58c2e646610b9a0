// Check mode inside of kernels: what is a race, what is not, and what was never written.
#include "simulator/gpu/ptx/checks.h"

#include <gtest/gtest.h>

#include <random>

#include "simulator/gpu/ptx/error.h"
#include "tests/simulator/gpu/ptx/support/run_ptx.h"

namespace lockstep::testing {

namespace {

// Statements of a kernel begin at line 13; %t is the thread, %b the block, %a the address of its word in shared memory, %o global memory.
std::string kernel(const std::string& statements) {
  return module_of(
      ".visible .entry k(.param .u64 d)\n{\n.shared .align 4 .b8 s[512];\n.reg .b64 %o, %x;\n.reg .b32 %t, %b, %a, %r<9>;\n.reg .b16 %h;\n"
      ".reg .pred %p, %q, %w;\nmov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %a, s; mad.lo.s32 %a, %t, 4, %a; ld.param.u64 %o, [d];\n"
      "mov.u32 %r1, 1; setp.eq.u32 %p, %t, 0; setp.ne.u32 %q, %t, 0; setp.lt.u32 %w, %t, 32;\n" +
      statements + "\nret;\n}\n");
}

// What check mode finds in 2 blocks of 64 threads; empty: nothing.
std::string found(const std::string& statements, ptx::Checks::Wanted wanted = {true, false}, std::uint32_t blocks = 2,
                  const ptx::WrittenMemory* written = nullptr, std::uint32_t threads = 64) {
  const ptx::Module module(kernel(statements));
  std::vector<std::uint32_t> memory(64, 7);
  const Packed packed(memory.data());
  struct : ptx::GlobalMemory {
    ptx::Region given;
    std::optional<ptx::Region> region(std::uint64_t, std::string&) const override { return given; }
  } given;
  given.given = {reinterpret_cast<std::uint64_t>(memory.data()), memory.size() * 4, reinterpret_cast<std::byte*>(memory.data())};
  ptx::Checks checks(module, wanted, written);
  ptx::Launch launch;
  launch.grid = {blocks, 1, 1};
  launch.block = {threads, 1, 1};
  launch.parameters = packed.bytes();
  launch.budget = 1'000'000;
  launch.memory = &given;
  launch.checks = &checks;
  try {
    ptx::launch(module, *module.kernel("k"), launch);
  } catch (const ptx::Error& error) {
    EXPECT_EQ(error.failure(), ptx::Failure::check) << error.what();
    return error.what();
  }
  return "";
}
void expect_race(const std::string& statements, const std::string& part) {
  const std::string said = found(statements);
  EXPECT_NE(said.find("race: it"), std::string::npos) << statements << "\n" << said;
  EXPECT_NE(said.find(part), std::string::npos) << statements << "\n" << said;
}
void expect_clean(const std::string& statements) { EXPECT_EQ(found(statements), "") << statements; }

TEST(PtxChecks, SharedMemoryBetweenBarriers) {
  const std::string write = "st.shared.u32 [%a], %t;\n", barrier = "bar.sync 0;\n", first = "ld.shared.u32 %r0, [s];\n";
  expect_race(write + first,
              "block (0, 0, 0), thread (1, 0, 0), PTX line 14 'ld.shared.u32': race: it reads 4 bytes at 0 of shared memory, which thread "
              "(0, 0, 0) of the block writes in PTX line 13 'st.shared.u32', and no barrier orders the two. Fix: put __syncthreads()");
  expect_clean(write + barrier + first);
  expect_race(write + barrier + first + "@%p st.shared.u32 [s], %r1;", "which thread (1, 0, 0) of the block reads");
  expect_clean(write + barrier + first + barrier + "@%p st.shared.u32 [s], %r1;");
  expect_race("st.shared.u32 [s], %t;", "Fix: let one thread write, or use an atomic");
  expect_race("@%w st.shared.u32 [s], 5;\n@!%w st.shared.u32 [s], 6;", "writes in");
  expect_clean("st.shared.u32 [s], 5;");             // all write the same
  expect_clean("ld.shared.u32 %r0, [s];");           // all read
  expect_clean(write + "ld.shared.u32 %r0, [%a];");  // its own
}

TEST(PtxChecks, SingleBytesCount) {
  const std::string byte = "mov.u32 %r2, s;\nadd.u32 %r2, %r2, %t;\ncvt.u16.u32 %h, %t;\n";
  expect_clean(byte + "st.shared.u8 [%r2], %h;");
  expect_race(byte + "st.shared.u8 [%r2], %h;\n@%p ld.shared.u32 %r0, [s];",
              "it reads 4 bytes at 0 of shared memory, which thread (1, 0, 0)");
  expect_race("ld.shared.u32 %r0, [%a];\n" + byte + "st.shared.u8 [%r2], %h;",
              "it writes 1 byte at 1 of shared memory, which thread (0, 0");
}

TEST(PtxChecks, AtomicsAndVolatileAccesses) {
  expect_clean("atom.shared.add.u32 %r0, [s], 1;\nred.shared.add.u32 [s], 1;");
  expect_race("red.shared.add.u32 [s], 1;\n@%p st.shared.u32 [s], 0;", "Fix: use an atomic for both");
  expect_clean("red.shared.add.u32 [s], 1;\nbar.sync 0;\nld.shared.u32 %r0, [s];");
  expect_clean("red.global.add.u32 [%o], 1;");
  expect_race("@%p red.global.add.u32 [%o], 1;\n@%p st.global.u32 [%o], %b;", "Fix: use an atomic for both");
  expect_clean("@%p st.volatile.global.u32 [%o], %b;\nld.volatile.global.u32 %r0, [%o];");
  expect_clean("@%p st.relaxed.gpu.global.u32 [%o], %b;\nld.acquire.gpu.global.u32 %r0, [%o];");
}

TEST(PtxChecks, WarpsAndPartsOfABlock) {
  const std::string write = "st.shared.u32 [%a], %t;\n", next = "xor.b32 %r2, %t, 1;\nmov.u32 %r3, s;\nmad.lo.s32 %r3, %r2, 4, %r3;\n";
  const std::string read_next = "ld.shared.u32 %r0, [%r3];\n";
  expect_race(write + next + read_next, "__syncwarp()");
  expect_clean(write + next + "bar.warp.sync 0xffffffff;\n" + read_next);
  // A shuffle is no barrier for memory.
  expect_race(write + next + "shfl.sync.idx.b32 %r5, %t, 0, 31, 0xffffffff;\n" + read_next, "shared memory");
  // Not all lanes that matter are in the mask.
  expect_race(write + next +
                  "setp.lt.u32 %w, %t, 1;\nand.b32 %r6, %t, 1;\nsetp.eq.u32 %q, %r6, 0;\nmov.u32 %r7, 0xaaaaaaaa;\n"
                  "selp.b32 %r7, 0x55555555, %r7, %q;\nbar.warp.sync %r7;\n" +
                  read_next,
              "shared memory");
  // A warp does not wait for the other one.
  expect_race(write + "bar.warp.sync 0xffffffff;\n@%w bra away;\nld.shared.u32 %r0, [s];\naway:", "Fix: put __syncthreads() between");
  // Barriers of a part: the first warp arrives, the second one waits.
  const std::string second_reads = "@!%w bar.sync 1, 64;\n@!%w ld.shared.u32 %r0, [s];\n";
  expect_clean(write + "@%w bar.arrive 1, 64;\n" + second_reads);
  expect_race(write + "@%w bar.arrive 1, 64;\n" + second_reads + "@%w ld.shared.u32 %r0, [s+128];", "thread (32, 0, 0), PTX line 13");
  expect_clean(write + "bar.sync 1, 64;\nld.shared.u32 %r0, [s];");
  expect_clean(write + next + "@%w bar.sync 1, 32;\n@%w " + read_next);
}

TEST(PtxChecks, BlocksOfALaunch) {
  expect_race("@%p st.global.u32 [%o], %b;",
              "block (1, 0, 0), thread (0, 0, 0), PTX line 13 'st.global.u32': race: it writes 4 bytes at 0x");
  expect_race("@%p ld.global.u32 %r0, [%o];\n@%p add.u32 %r0, %r0, 1;\n@%p st.global.u32 [%o], %r0;",
              "blocks run in any order. Fix: use atomics");
  expect_race("setp.eq.and.u32 %q, %b, 1, %p;\nld.global.u32 %r0, [%o];\n@%q st.global.u32 [%o], 3;", "of block (0, 0, 0) reads");
  expect_clean("@%p st.global.u32 [%o], 5;");
  expect_clean("mul.wide.u32 %x, %b, 4;\nadd.s64 %x, %x, %o;\n@%p st.global.u32 [%x], %b;");
  EXPECT_EQ(found("st.global.u32 [%o], %t;\nld.global.u32 %r0, [%o];", {true, false}, 1), "");  // within a block
}

// The block that comes last reads what the others wrote; a fence goes between the write and the atomic.
TEST(PtxChecks, AFenceWithAnAtomicOrdersBlocks) {
  const std::string write = "mul.wide.u32 %x, %b, 4;\nadd.s64 %x, %x, %o;\n@%p st.global.u32 [%x+64], %b;\n", fence = "membar.gl;\n",
                    ticket = "@%p atom.global.add.u32 %r0, [%o], 1;\n",
                    last = "setp.eq.and.u32 %q, %r0, 8, %p;\n@%q ld.global.u32 %r5, [%o+64];\n@%q st.global.u32 [%o], 0;";
  expect_clean(write + fence + ticket + last);
  expect_race(write + ticket + last, "Fix: put __threadfence()");
  expect_race(write + "membar.cta;\n" + ticket + last, "Fix: put __threadfence()");
  expect_race(write + fence + "mov.u32 %r0, 8;\n" + last, "blocks run in any order");
  expect_race(fence + write + ticket + last, "__threadfence()");
  expect_clean(write + "@%p atom.release.gpu.global.add.u32 %r0, [%o], 1;\n" + last);
  // A lock in shared memory, and the same without fences.
  const auto locked = [](const std::string& between) {
    return "and.b32 %r6, %t, 31;\nsetp.ne.u32 %q, %r6, 0;\n@%q bra away;\nagain:\natom.shared.cas.b32 %r0, [s], 0, 1;\nsetp.ne.u32 %q, "
           "%r0, 0;\n@%q bra again;\nld.shared.u32 %r5, [s+4];\n"
           "add.u32 %r5, %r5, 1;\nst.shared.u32 [s+4], %r5;\n" +
           between + "atom.shared.exch.b32 %r0, [s], 0;\naway:";
  };
  const std::string clear = "@%p st.shared.u32 [s], 0;\n@%p st.shared.u32 [s+4], 0;\nbar.sync 0;\n";
  EXPECT_EQ(found(clear + locked("membar.cta;\n"), {true, true}, 1), "");
  EXPECT_NE(found(clear + locked(""), {true, true}, 1).find("race: it"), std::string::npos);
}

TEST(PtxChecks, ReadsOfWhatWasNeverWritten) {
  const ptx::Checks::Wanted wanted{false, true};
  const std::string said = found("ld.shared.u32 %r0, [%a];", wanted);
  EXPECT_NE(said.find("PTX line 13 'ld.shared.u32': uninitialised read: it reads 4 bytes at 0 of shared memory"), std::string::npos)
      << said;
  EXPECT_EQ(found("st.shared.u32 [%a], 0;\nld.shared.u32 %r0, [%a];", wanted), "");
  EXPECT_NE(found("red.shared.add.u32 [%a], 1;", wanted), "");
  EXPECT_NE(found("cvt.u16.u32 %h, %t;\nst.shared.u8 [%a], %h;\nld.shared.u32 %r0, [%a];", wanted), "");
  // What the first block wrote does not count for the second one.
  EXPECT_NE(found("setp.eq.u32 %q, %b, 0;\n@%q st.shared.u32 [%a], 0;\nld.shared.u32 %r0, [%a];", wanted).find("block (1, 0, 0)"),
            std::string::npos);
  struct : ptx::WrittenMemory {
    std::vector<ptx::Bytes> unwritten(ptx::Bytes all) const override { return {{all.address + 8, 4}, {all.address + 20, 8}}; }
  } written;
  const auto reads = [&](const std::string& statements) { return found(statements, wanted, 2, &written); };
  EXPECT_EQ(reads("ld.global.v2.u32 {%r0, %r2}, [%o];\nld.global.u32 %r0, [%o+16];"), "");
  EXPECT_NE(reads("ld.global.v4.u32 {%r0, %r2, %r3, %r4}, [%o];").find("it reads 16 bytes, 0 bytes into an allocation of 256"),
            std::string::npos);
  EXPECT_EQ(reads("st.global.u32 [%o+8], 1;\nld.global.v4.u32 {%r0, %r2, %r3, %r4}, [%o];"), "");
  EXPECT_NE(reads("st.global.u32 [%o+20], 1;\nred.global.add.u32 [%o+24], 1;"), "");
}

// Full vector clocks of every thread, which BlockOrder makes do without.
TEST(PtxChecks, OrderEqualsVectorClocks) {
  constexpr int kThreads = 96;
  std::mt19937 random(3);
  using Clock = std::vector<std::uint32_t>;
  int ordered = 0, unordered = 0;
  for (int round = 0; round < 40; ++round) {
    ptx::BlockOrder order;
    order.begin_block(kThreads);
    std::vector<Clock> clocks(kThreads, Clock(kThreads, 0));
    for (int i = 0; i < kThreads; ++i) clocks[static_cast<std::size_t>(i)][static_cast<std::size_t>(i)] = 1;
    const auto meet = [&](const std::vector<int>& threads) {
      Clock joined(kThreads, 0);
      for (const int t : threads)
        for (int i = 0; i < kThreads; ++i)
          joined[static_cast<std::size_t>(i)] =
              std::max(joined[static_cast<std::size_t>(i)], clocks[static_cast<std::size_t>(t)][static_cast<std::size_t>(i)]);
      for (const int t : threads) {
        clocks[static_cast<std::size_t>(t)] = joined;
        ++clocks[static_cast<std::size_t>(t)][static_cast<std::size_t>(t)];
      }
    };
    struct Seen {
      int thread;
      std::uint32_t clock;
      ptx::Moment moment;
    };
    std::vector<Seen> seen;
    for (int step = 0; step < 60; ++step) {
      const auto kind = random() % 12;
      std::vector<int> threads;
      if (kind == 0) {
        for (int i = 0; i < kThreads; ++i) threads.push_back(i);
        order.block_barrier();
        meet(threads);
      } else if (kind == 1) {  // two whole warps
        const int away = static_cast<int>(random() % 3);
        for (int i = 0; i < kThreads; ++i)
          if (i / 32 != away) threads.push_back(i);
        order.part_barrier(7U & ~(1U << away), 0);
        meet(threads);
      } else if (kind < 5) {
        const int warp = static_cast<int>(random() % 3);
        const ptx::Mask lanes = static_cast<ptx::Mask>(random()) | 1U;
        for (int i = 0; i < 32; ++i)
          if ((lanes >> i & 1U) != 0) threads.push_back(warp * 32 + i);
        order.warp_barrier(warp, lanes);
        meet(threads);
      } else {
        const int thread = static_cast<int>(random() % kThreads);
        for (const Seen& other : seen) {
          const bool expected = clocks[static_cast<std::size_t>(thread)][static_cast<std::size_t>(other.thread)] >= other.clock;
          const bool said = order.before(other.moment, other.thread, thread);
          ASSERT_TRUE(said || !expected) << "a race that there is not: threads " << other.thread << " and " << thread;
          if (other.thread / 32 == thread / 32) {
            ASSERT_EQ(said, expected) << other.thread << " and " << thread;
          }
          (said ? ordered : unordered) += 1;
        }
        seen.push_back({thread, clocks[static_cast<std::size_t>(thread)][static_cast<std::size_t>(thread)], order.now(thread)});
      }
    }
  }
  EXPECT_GT(ordered, 5000);
  EXPECT_GT(unordered, 2000);
}

}  // namespace

}  // namespace lockstep::testing
