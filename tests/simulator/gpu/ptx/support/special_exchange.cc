// Exchanges between lanes, and control.
#include <gtest/gtest.h>

#include <random>

#include "simulator/gpu/ptx/error.h"
#include "simulator/gpu/ptx/machine.h"
#include "simulator/gpu/ptx/opcode_names.h"
#include "tests/simulator/gpu/ptx/support/reference.h"
#include "tests/simulator/gpu/ptx/support/run_ptx.h"
#include "tests/simulator/gpu/ptx/support/special_cases.h"

namespace lockstep::testing {

namespace {

std::string text_for(const std::string& name, int bytes, const std::string& operands, bool predicate_result) {
  return ".visible .entry k(.param .u64 d, .param .u64 s)\n{\n.reg .b64 %o, %i, %t, %w;\n.reg .b32 %r, %x<5>, %m, %y;\n.reg .b" +
         std::to_string(8 * bytes) +
         " %a;\n.reg .pred %p, %q, %g;\nld.param.u64 %o, [d];\nld.param.u64 %i, [s];\nmov.u32 %r, %tid.x;\nmul.wide.u32 %t, %r, "
         "32;\nadd.s64 %i, %i, %t;\n"
         "mul.wide.u32 %t, %r, 8;\nadd.s64 %o, %o, %t;\nld.global.b" +
         std::to_string(8 * bytes) +
         " %a, [%i];\nld.global.u32 %x1, [%i+8];\nld.global.u32 %x2, [%i+12];\n"
         "ld.global.u32 %m, [%i+16];\nld.global.u32 %y, [%i+20];\nsetp.ne.u32 %p, %y, 0;\nld.global.u32 %y, [%i+24];\nsetp.eq.u32 %g, %y, "
         "0;\nsetp.ne.u32 %q, 0, 0;\nmov.u32 %x0, 0;\n"
         "@%g bra after;\n" +
         name + " " + operands + ";\nafter:\n" +
         (predicate_result ? "selp.u32 %x0, 1, 0, %q;\nst.global.u32 [%o], %x0;\n" : "st.global.u32 [%o], %x0;\n") +
         "selp.u32 %y, 1, 0, %q;\nst.global.u32 [%o+4], %y;\nret;\n}\n";
}

struct Lane {
  std::uint64_t a;
  std::uint32_t b, c, members, vote, active, unused;
};

// Lanes of a warp of which some are active; the members are those.
struct Warps {
  std::vector<Lane> lanes = std::vector<Lane>(64);
  std::vector<std::uint32_t> result = std::vector<std::uint32_t>(128, 0);
  void draw(std::mt19937_64& random, int bytes) {
    for (std::size_t w = 0; w < 2; ++w) {
      const std::uint32_t active = w == 0 ? 0xffffffffU : static_cast<std::uint32_t>(random()) | 1U;
      for (std::size_t i = 0; i < 32; ++i) {
        Lane& lane = lanes[32 * w + i];
        lane.a = random() % 3 == 0 ? random() : random() % 3;
        if (bytes == 4) lane.a &= 0xffffffffU;
        if (random() % 4 == 0 && i > 0) lane.a = lanes[32 * w].a;
        lane.b = static_cast<std::uint32_t>(random() % 40);
        const std::uint32_t segment = 32U - (1U << random() % 6);
        lane.c = segment << 8 | static_cast<std::uint32_t>(random() % 32);
        lane.members = active;
        lane.vote = static_cast<std::uint32_t>(random() % 4 != 0);
        lane.active = active >> i & 1U;
      }
    }
  }
};

std::uint32_t shuffled(const std::string& name, const std::vector<Lane>& lanes, std::size_t base, std::uint32_t lane, bool& in_range) {
  const Lane& self = lanes[base + lane];
  const std::uint32_t b = self.b % 32, clamp = self.c % 32, segment = self.c >> 8 & 31U;
  const std::uint32_t most = (lane & segment) | (clamp & ~segment);
  std::int64_t source = 0;
  if (name.find(".up.") != std::string::npos)
    source = static_cast<std::int64_t>(lane) - b, in_range = source >= most;
  else if (name.find(".down.") != std::string::npos)
    source = lane + b, in_range = source <= most;
  else if (name.find(".bfly.") != std::string::npos)
    source = lane ^ b, in_range = source <= most;
  else
    source = (lane & segment) | (b & ~segment), in_range = source <= most;
  return static_cast<std::uint32_t>(lanes[base + (in_range ? static_cast<std::size_t>(source) : lane)].a);
}

}  // namespace

void exchange_cases(Covered& covered) {
  std::mt19937_64 random(6);
  for (const ptx::Operation& operation : ptx::operations().all()) {
    const std::string& name = operation.name;
    if (operation.kind != ptx::Kind::exchange) continue;
    const bool shuffles = starts_with(name, "shfl"), votes = starts_with(name, "vote"), matches = starts_with(name, "match"),
               reduces = starts_with(name, "redux");
    const int bytes = name.find("b64") != std::string::npos ? 8 : 4;
    const bool predicate_result = name.find(".pred") != std::string::npos, all = starts_with(name, "match.all");
    const std::string operands = shuffles                          ? "%x0|%q, %a, %x1, %x2, %m"
                                 : votes                           ? (predicate_result ? "%q, %p, %m" : "%x0, %p, %m")
                                 : matches                         ? (all ? "%x0|%q, %a, %m" : "%x0, %a, %m")
                                 : reduces                         ? "%x0, %a, %m"
                                 : starts_with(name, "activemask") ? "%x0"
                                                                   : "%x0|%q, %m";
    const ptx::Module module(module_of(text_for(name, bytes, operands, predicate_result)));
    for (int round = 0; round < 8; ++round) {
      Warps warps;
      warps.draw(random, bytes);
      run_kernel(module, "k", {{1, 1, 1}, {64, 1, 1}}, nullptr, nullptr, warps.result.data(), warps.lanes.data());
      for (std::size_t t = 0; t < 64; ++t) {
        const std::size_t base = t / 32 * 32;
        const Lane& self = warps.lanes[t];
        std::uint32_t value = 0, second = 0;
        if (self.active != 0) {
          std::uint32_t yes = 0, equal = 0, first = 32;
          std::uint64_t reduced = self.a;
          for (std::uint32_t i = 0; i < 32; ++i) {
            const Lane& other = warps.lanes[base + i];
            if ((self.members >> i & 1U) == 0) continue;
            first = std::min(first, i);
            yes |= other.vote << i;
            equal |= static_cast<std::uint32_t>(other.a == self.a) << i;
            if (reduces && base + i != t) reduced = reference(parts_of(name)[2] + "." + parts_of(name)[3], {reduced, other.a}).bits;
          }
          if (shuffles) {
            bool in_range = false;
            value = shuffled(name, warps.lanes, base, static_cast<std::uint32_t>(t % 32), in_range);
            // A source that is not active gives an undefined value: not looked at.
            second = in_range;
          } else if (name == "vote.sync.ballot.b32")
            value = yes;
          else if (name == "vote.sync.all.pred")
            value = second = yes == self.members;
          else if (name == "vote.sync.any.pred")
            value = second = yes != 0;
          else if (name == "vote.sync.uni.pred")
            value = second = yes == self.members || yes == 0;
          else if (all)
            value = equal == self.members ? equal : 0, second = equal == self.members;
          else if (matches)
            value = equal;
          else if (reduces)
            value = static_cast<std::uint32_t>(reduced);
          else if (starts_with(name, "activemask"))
            value = self.members;
          else if (name == "elect.sync")
            value = first, second = first == t % 32;
          else
            FAIL() << name << " has no reference";
        }
        ASSERT_EQ(warps.result[2 * t], value) << name << ", thread " << t << ", a " << self.a << ", b " << self.b << ", c " << self.c;
        ASSERT_EQ(warps.result[2 * t + 1], second) << name << ", thread " << t;
      }
    }
    covered.insert(name);
  }
}

void control_cases(Covered& covered) {
  const auto cover = [&](const std::string& name) {
    ASSERT_NE(ptx::operations().find(name), nullptr) << name;
    covered.insert(name);
  };
  const std::string start =
      ".visible .entry k(.param .u64 d)\n{\n.reg .b64 %o, %t;\n.reg .b32 %r, %x<5>;\n.reg .pred %p, %q;\nld.param.u64 %o, [d];\nmov.u32 "
      "%r, %tid.x;\nmul.wide.u32 %t, %r, 4;\nadd.s64 %o, %o, %t;\n";
  std::vector<std::uint32_t> out(96, 0);
  const auto run = [&](const std::string& text, std::uint32_t threads = 64) {
    std::fill(out.begin(), out.end(), 0);
    run_text(text, {{1, 1, 1}, {threads, 1, 1}}, out.data());
  };
  run(start +
      "and.b32 %x0, %r, 1;\nsetp.eq.u32 %p, %x0, 0;\n@%p bra even;\nmov.u32 %x1, 100;\nbra.uni join;\neven:\nmov.u32 %x1, "
      "200;\njoin:\nadd.u32 %x1, %x1, %r;\nst.global.u32 [%o], %x1;\nret;\n}\n");
  for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(out[i], (i % 2 == 0 ? 200 : 100) + i);
  cover("bra");
  run(start +
      "rem.u32 %x0, %r, 3;\nts: .branchtargets a, b, c;\nbrx.idx %x0, ts;\na:\nmov.u32 %x1, 10;\nbra join;\nb:\nmov.u32 %x1, 20;\nbra "
      "join;\nc:\nmov.u32 %x1, 30;\njoin:\nactivemask.b32 %x2;\npopc.b32 %x2, %x2;\nadd.u32 %x1, %x1, %x2;\nst.global.u32 [%o], "
      "%x1;\nret;\n}\n");
  for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(out[i], 10 * (i % 3 + 1) + 32) << "thread " << i;  // all 32 met again
  cover("brx.idx");
  const std::string fibonacci =
      ".func (.param .b32 r) fib(.param .b32 n)\n{\n.reg .b32 %a, %b, %c;\n.reg .pred %p;\nld.param.b32 %a, [n];\nsetp.lt.u32 %p, %a, "
      "2;\n@%p bra small;\n{\n.param .b32 p0;\n.param .b32 q0;\n"
      "sub.u32 %b, %a, 1;\nst.param.b32 [p0+0], %b;\ncall.uni (q0), fib, (p0);\nld.param.b32 %b, [q0+0];\n}\n{\n.param .b32 p0;\n.param "
      ".b32 q0;\nsub.u32 %c, %a, 2;\nst.param.b32 [p0+0], %c;\ncall (q0), fib, (p0);\n"
      "ld.param.b32 %c, [q0+0];\n}\nadd.u32 %a, %b, %c;\nsmall:\nst.param.b32 [r+0], %a;\nret;\n}\n";
  run(fibonacci + start +
      "and.b32 %x0, %r, 7;\n{\n.param .b32 p0;\n.param .b32 q0;\nst.param.b32 [p0+0], %x0;\ncall.uni (q0), fib, (p0);\nld.param.b32 %x1, "
      "[q0+0];\n}\nst.global.u32 [%o], %x1;\nret;\n}\n");
  const std::uint32_t fib[8] = {0, 1, 1, 2, 3, 5, 8, 13};
  for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(out[i], fib[i % 8]);  // lanes at different depths
  cover("call");
  cover("ret");
  run(start + "setp.lt.u32 %p, %r, 10;\n@%p exit;\nst.global.u32 [%o], 7;\nexit;\n}\n");
  for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(out[i], i < 10 ? 0U : 7U);
  cover("exit");
  EXPECT_THROW(run(start + "setp.eq.u32 %p, %r, 33;\n@%p trap;\nret;\n}\n"), ptx::Error);
  cover("trap");
  run(start +
      "bar.warp.sync -1;\nfence.acq_rel.gpu;\nmembar.gl;\nnanosleep.u32 20;\nprefetch.global.L2 [%o];\nst.global.u32 [%o], 5;\nret;\n}\n");
  EXPECT_EQ(out[63], 5U);
  for (const char* name : {"fence", "nanosleep.u32", "prefetch"}) cover(name);
  // Two halves of a warp meet at different instructions: a flag goes from one to the other.
  run(start +
          "setp.lt.u32 %p, %r, 16;\n@%p bra low;\nbar.warp.sync -1;\nld.global.u32 %x1, [%o+-64];\nst.global.u32 [%o], %x1;\nbra "
          "join;\nlow:\nadd.u32 %x1, %r, 1000;\nst.global.u32 [%o], %x1;\nbar.warp.sync -1;\njoin:\nret;\n}\n",
      32);
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], 1000 + i % 16);
  cover("bar.warp.sync");
  const std::string shared = ".shared .align 4 .b8 v[256];\n";
  run(shared + start +
      "shl.b32 %x0, %r, 2;\nmov.u32 %x1, v;\nadd.u32 %x2, %x1, %x0;\nst.shared.u32 [%x2], %r;\nbar.sync 0;\nsub.u32 %x0, 252, "
      "%x0;\nadd.u32 %x2, %x1, %x0;\nld.shared.u32 %x3, [%x2];\nst.global.u32 [%o], %x3;\nret;\n}\n");
  for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(out[i], 63 - i);
  cover("bar.sync");
  // The first warp only arrives, the second waits for it.
  run(shared + start +
      "mov.u32 %x1, v;\nsetp.lt.u32 %p, %r, 32;\n@%p bra first;\nbarrier.sync 3, 64;\nld.shared.u32 %x2, [%x1];\nst.global.u32 [%o], "
      "%x2;\nret;\nfirst:\nst.shared.u32 [%x1], 9;\nbar.arrive 3, 64;\nret;\n}\n");
  for (std::uint32_t i = 32; i < 64; ++i) EXPECT_EQ(out[i], 9U);
  cover("bar.arrive");
  run(start +
      "rem.u32 %x0, %r, 3;\nsetp.eq.u32 %p, %x0, 0;\nbar.red.popc.u32 %x1, 0, %p;\nbar.red.and.pred %q, 0, 64, %p;\nselp.u32 %x2, 256, 0, "
      "%q;\nadd.u32 %x1, %x1, %x2;\nbar.red.or.pred %q, 1, !%p;\nselp.u32 %x2, 1024, 0, %q;\nadd.u32 %x1, %x1, %x2;\nst.global.u32 [%o], "
      "%x1;\nret;\n}\n");
  for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(out[i], 22 + 1024U);
  for (const char* name : {"bar.red.popc.u32", "bar.red.and.pred", "bar.red.or.pred"}) cover(name);
}

}  // namespace lockstep::testing
