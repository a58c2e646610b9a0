// Bad input: one Error that says where, never a crash.
#include <gtest/gtest.h>

#include <functional>
#include <iostream>

#include "simulator/gpu/ptx/error.h"
#include "tests/simulator/gpu/ptx/support/launch_from_ptx.h"
#include "tests/simulator/gpu/ptx/support/run_ptx.h"

namespace lockstep::testing {

namespace {

std::string error_of(const std::function<void()>& function) {
  try {
    function();
  } catch (const ptx::Error& error) {
    return error.what();
  }
  return "no error";
}
std::string load_error(const std::string& text) {
  return error_of([&] { const ptx::Module module(text); });
}
void expect_in(const std::string& message, const std::string& part) {
  EXPECT_NE(message.find(part), std::string::npos) << "'" << part << "' is not in: " << message;
}

std::string body(const std::string& statements) {
  return module_of(".visible .entry k(.param .u64 d)\n{\n.reg .b64 %o;\n.reg .b32 %r<4>;\n.reg .b16 %h;\n.reg .pred %p;\n" + statements +
                   "\nret;\n}\n");  // statements begin at line 10
}

TEST(PtxErrors, WhatCannotBeReadIsRefusedWithItsLine) {
  const std::pair<std::string, std::string> kCases[] = {
      {"", "line 1: a module begins with .version"},
      {"hello", "line 1: a module begins with .version"},
      {".version 99.0\n.target sm_75\n", "line 1: version 99.0 of PTX is not supported"},
      {".version 5.0\n.target sm_75\n", "version 5.0"},
      {".version 8.0\n.target sm_999\n", "target 'sm_999' is not supported"},
      {".version 8.0\n.target sm_75\n.address_size 32\n", "addresses have 64 bits"},
      {module_of(".visible .entry k(\n"), "the text ends"},
      {module_of(".visible .entry k()\n{\n.reg .b32 %r;\n"), "no closing brace"},
      {module_of(".visible .texref t;\n"), "directive '.texref' is not supported"},
      {module_of(".visible .entry k()\n{\nret;\n}\n.visible .entry k()\n{\nret;\n}\n"), "function 'k' is there twice"},
      {module_of(".extern .global .u32 x;\n"), "linking is not supported"},
      {module_of(".global .u32 x = {1, 2};\n"), "more initial values than elements"},
      {module_of(".global .b8 x[99999999999];\n"), "more than 2^30 bytes"},
      {module_of("/* no end"), "a comment has no end"},
      {module_of(".file 1 \"no end\n"), "no closing quote"},
      {module_of("\x01"), "PTX has no character with code 1"},
      {body("frobnicate.u32 %r0, %r1;"), "line 10: 'frobnicate.u32' is not supported"},
      {body("add.u33 %r0, %r1, %r2;"), "line 10: 'add.u33' is not supported"},
      {body("tex.2d.v4.f32.s32 %r0, [t, {%r1, %r2}];"), "line 10: 'tex.2d.v4.f32.s32' is not supported"},
      {body("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%r0}, {%r0}, {%r0}, {%r0};"), "is not supported"},
      {body("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r0}, {%r0}, {%r0}, {%r0};"), "needs 2 registers in braces"},
      {body("cp.async.bulk.shared.global [%o], [%o], 16;"), "is not supported"},
      {body("cp.async.cg.shared.global [%o], %o, 16;"), "needs an address in brackets"},
      {body("add.u32 %r0, %r1;"), "line 10: 'add.u32' has too few operands"},
      {body("add.u32 %r0, %r1, %r2, %r3;"), "too many operands"},
      {body("add.u32 %r0, %r1, %h;"), "a register of 16 bits ('%h') where 32 are needed"},
      {body("add.u32 5, %r1, %r2;"), "writes to something that is no register"},
      {body("add.u32 %r0, %r1, %nosuch;"), "reads '%nosuch'"},
      {body("mov.u32 %r0, nosuch;"), "names 'nosuch', which is not declared"},
      {body("bra nowhere;"), "line 10: there is no label 'nowhere'"},
      {body("same:\nsame:\n"), "label 'same' is there twice"},
      {body("ld.global.u32 %r0, %o;"), "needs an address in brackets"},
      {body("st.param.u32 [d], %r0;"), "writes to a parameter of the kernel"},
      {body("ld.shared.u32 %r0, [d];"), "is in another state space"},
      {body("@%r0 mov.u32 %r1, 0;"), "a guard is a predicate register"},
      {body("call nofunction;"), "calls 'nofunction', which is not declared"},
      {body("add.f32 %r0, %r1, 5;"), "needs a number like 0f3F800000"},
      {body("mov.u32 %r0, 0f3F80;"), "a number in base 16 has 4 digits"},
      {body("mov.u32 %r0, 99999999999999999999999;"), "a number has more than 64 bits"},
      {body(".reg .b128 %q;"), "registers of type 'b128' are not supported"},
      {body(".reg .b32 %z<99999999>;"), "at most 131072 registers"},
  };
  int cases = 0;
  for (const auto& [text, part] : kCases) {
    expect_in(load_error(text), part);
    expect_in(load_error(text), "PTX line ");
    ++cases;
  }
  std::cout << cases << " refused with line\n";
}

TEST(PtxErrors, TruncatedAndChangedTextIsReadOrRefused) {
  if (!kHasKernelPtx) GTEST_SKIP() << "no nvcc was found when configuring: there is no PTX of the kernels";
  int read = 0, refused = 0;
  for (const std::string& file : kernel_ptx_files()) {
    const std::string text = kernel_ptx_text(file);
    if (text.size() > 200000) continue;
    for (std::size_t k = 0; k < 12; ++k) {
      std::string part = text.substr(0, text.size() * (2 * k + 1) / 24);
      if (k % 2 == 1) {
        part = text;
        part[(k * 2654435761U) % part.size()] ^= static_cast<char>(1U << (k % 7));
      }
      const std::string message = load_error(part);
      message == "no error" ? ++read : ++refused;
    }
  }
  EXPECT_GT(refused, 0);
  std::cout << refused << " refused, " << read << " read\n";
}

TEST(PtxErrors, LaunchesThatNoGpuTakes) {
  const ptx::Module module(body(""));
  const auto with = [&](ptx::Dim grid, ptx::Dim block, std::uint32_t shared = 0) {
    return error_of([&] { run_kernel(module, "k", {grid, block, shared}, nullptr, nullptr, std::uint64_t{0}); });
  };
  expect_in(with({0, 1, 1}, {32, 1, 1}), "past the limits of the grid");
  expect_in(with({0x80000000U, 1, 1}, {32, 1, 1}), "past the limits of the grid");
  expect_in(with({1, 65536, 1}, {32, 1, 1}), "past the limits of the grid");
  expect_in(with({1, 1, 1}, {1025, 1, 1}), "at most 1024 threads");
  expect_in(with({1, 1, 1}, {1, 1, 65}), "past the limits of a block");
  expect_in(with({1, 1, 1}, {64, 64, 1}), "past the limits of a block");
  expect_in(with({1, 1, 1}, {32, 1, 1}, 300000), "more than a GPU has");
  expect_in(error_of([&] {
              run_kernel(module, "k", {{1, 1, 1}, {1, 1, 1}}, nullptr, nullptr, 1.0F);
            }),
            "takes 8 bytes of parameters and got 4");
  const ptx::Module required(module_of(".visible .entry k() .reqntid 8, 2\n{\nret;\n}\n"));
  expect_in(error_of([&] { run_kernel(required, "k", {{1, 1, 1}, {16, 1, 1}}, nullptr, nullptr); }), "requires blocks of (8, 2, 1)");
}

TEST(PtxErrors, ThreadsThatGoWrongAreNamed) {
  const auto run = [](const std::string& statements, std::uint64_t parameter, std::uint32_t threads = 64) {
    return error_of([&] {
      const ptx::Module module(body(statements));
      run_kernel(module, "k", {{1, 1, 1}, {threads, 1, 1}}, nullptr, nullptr, parameter);
    });
  };
  expect_in(run("again: bra again;", 0), "has not ended");
  expect_in(run("mov.u32 %r0, %tid.x;\nsetp.eq.u32 %p, %r0, 40;\n@%p trap;", 0), "thread (40, 0, 0), PTX line 12 'trap'");
  expect_in(run("ld.param.u64 %o, [d];\nld.global.u32 %r0, [%o];", 0),
            "line 11 'ld.global.u32': access to 4 bytes at 0x0, which is no address of global memory");
  expect_in(run("ld.param.u64 %o, [d];\nld.global.u32 %r0, [%o+2];", reinterpret_cast<std::uint64_t>(&run) & ~std::uint64_t{3}),
            "misaligned access to 4 bytes");
  expect_in(run("ld.param.u64 %o, [d];\nld.shared.u32 %r0, [%o];", 64), "access to 4 bytes at 0x40 of shared memory, which has 0");
  expect_in(run("ld.param.u64 %o, [d];\nld.local.u32 %r0, [%o];", 1 << 20), "of local memory, which has");
  expect_in(run("mov.u32 %r0, %tid.x;\nsetp.lt.u32 %p, %r0, 32;\n@%p bra skip;\nbar.sync 0, 64;\nskip:", 0),
            "waits at a barrier that the other threads do not reach");
  expect_in(run("bar.sync 16;", 0), "a block has barriers 0 to 15");
}

TEST(PtxErrors, OnlyGivenMemoryIsTouched) {
  const ptx::Module module(
      body("mov.u32 %r0, %tid.x;\nld.param.u64 %o, [d];\n{\n.reg .b64 %t;\nmul.wide.u32 %t, %r0, 4;\nadd.s64 %o, %o, %t;\n}\nst.global.u32 "
           "[%o], %r0;"));
  std::vector<std::uint32_t> memory(40, 0);
  struct : ptx::GlobalMemory {
    ptx::Region given;
    std::optional<ptx::Region> region(std::uint64_t address, std::string& why) const override {
      why = "which is in no allocation";
      return given.find(address, 1) != nullptr ? std::optional(given) : std::nullopt;
    }
  } given;
  given.given = {1 << 20, 33 * 4, reinterpret_cast<std::byte*>(memory.data())};
  const Packed packed(std::uint64_t{1} << 20);  // the kernel's addresses need not be the host's
  ptx::Launch launch;
  launch.block = {33, 1, 1};
  launch.parameters = packed.bytes();
  launch.memory = &given;
  ptx::launch(module, *module.kernel("k"), launch);
  EXPECT_EQ(memory[32], 32U);
  launch.block = {34, 1, 1};
  expect_in(error_of([&] { ptx::launch(module, *module.kernel("k"), launch); }),
            "thread (33, 0, 0), PTX line 17 'st.global.u32': access to 4 bytes at 0x100084, which is in no allocation");
}

TEST(PtxErrors, PrintfAndAssert) {
  const std::string declared =
      ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n.extern .func __assertfail(.param .b64 a, .param .b64 b, "
      ".param .b32 c, .param .b64 d, .param .b64 e);\n"
      ".global .align 1 .b8 text[29] = {37, 100, 32, 37, 115, 32, 37, 46, 50, 102, 32, 37, 108, 108, 117, 32, 37, 37, 10, 0};\n.global "
      ".align 1 .b8 name[4] = {97, 98, 99};\n"
      ".global .align 1 .b8 said[6] = {120, 32, 62, 32, 49};\n";
  const ptx::Module prints(
      module_of(declared +
                ".visible .entry k()\n{\n.local .align 8 .b8 args[32];\n.reg .b64 %a, %b, %c;\n.reg .b32 %r;\nmov.u64 %a, "
                "args;\ncvta.local.u64 %b, %a;\nmov.u32 %r, %tid.x;\nst.local.u32 [%a], %r;\n"
                "mov.u64 %c, name;\nst.local.u64 [%a+8], %c;\nst.local.f64 [%a+16], 0d3FF8000000000000;\nst.local.u64 [%a+24], "
                "12345678901;\nmov.u64 %c, text;\n{\n.param .b64 p0;\nst.param.b64 [p0+0], %c;\n.param .b64 p1;\n"
                "st.param.b64 [p1+0], %b;\n.param .b32 q;\ncall.uni (q), vprintf, (p0, p1);\nld.param.b32 %r, [q+0];\n}\nret;\n}\n"));
  std::string printed;
  run_kernel(prints, "k", {{1, 1, 1}, {2, 1, 1}}, nullptr, &printed);
  EXPECT_EQ(printed, "0 abc 1.50 12345678901 %\n1 abc 1.50 12345678901 %\n");
  const ptx::Module asserts(module_of(declared +
                                      ".visible .entry k()\n{\n.reg .b64 %c;\nmov.u64 %c, said;\n{\n.param .b64 p0;\nst.param.b64 [p0], "
                                      "%c;\n.param .b64 p1;\nst.param.b64 [p1], %c;\n.param .b32 p2;\nst.param.b32 [p2], 7;\n"
                                      ".param .b64 p3;\nst.param.b64 [p3], %c;\n.param .b64 p4;\nst.param.b64 [p4], 1;\ncall.uni "
                                      "__assertfail, (p0, p1, p2, p3, p4);\n}\nret;\n}\n"));
  expect_in(error_of([&] {
              run_kernel(asserts, "k", {{1, 1, 1}, {1, 1, 1}}, nullptr, nullptr);
            }),
            "assertion 'x > 1' does not hold (x > 1, line 7)");
}

}  // namespace

}  // namespace lockstep::testing
