// Modules as nvcc writes them: what is declared where, and spellings that mean the same.
#include "simulator/gpu/ptx/module.h"

#include <gtest/gtest.h>

#include <iostream>

#include "simulator/gpu/ptx/opcode_names.h"
#include "tests/simulator/gpu/ptx/support/run_ptx.h"

namespace lockstep::testing {

namespace {

TEST(PtxModule, ParametersOfStructsVariablesAndScopes) {
  struct View {
    std::uint32_t* data;
    std::int64_t count;
  };
  const ptx::Module module(
      ".version 9.0\n.target sm_90a, debug\n.address_size 64\n\t// .globl k\n.file\t1 \"k.cu\", 123, 456\n.global .align 8 .b8 words[16] = "
      "{1, 0, 0, 0, 255};\n.global .align 8 .u64 to_words = "
      "generic(words)+4;\n.const .align 4 .f32 half = 0f3F000000;\n.global .align 4 .f32 numbers[2][2] = {{1.5, 2}, {-3.0}};\n.extern "
      ".shared .align 16 .b8 dynamic[];\n.shared .align 4 .b8 fixed[12];\n"
      ".weak .entry k(\n\t.param .align 8 .b8 k_param_0[16],\n\t.param .u8 k_param_1,\n\t.param .f32 k_param_2\n)\n.maxntid 64, 1, "
      "1\n.minnctapersm 2\n{\n\t.reg .b64 %rd<9>;\n\t.reg .b32 %r<9>;\n.reg .f32 %f<3>;\n\t.reg .b16 "
      "%rs<2>;\n.pragma \"nounroll\";\n\t.loc\t1 5 3, function_name $L__info0, inlined_at 1 9 1\n\tld.param.u64 %rd1, "
      "[k_param_0];\n\tld.param.u64 %rd2, [k_param_0+8];\n\tld.param.u8 %rs1, [k_param_1];\n"
      "cvt.u32.u16 %r1, %rs1;\nst.global.u32 [%rd1], %r1;\nst.global.u64 [%rd1+8], %rd2;\nld.global.u64 %rd3, [to_words];\nld.u8 %r2, "
      "[%rd3];\nst.global.u32 [%rd1+4], %r2;\n{\n.reg .b32 %r1;\nmov.u32 %r1, 7;\n}\n"
      "st.global.u32 [%rd1+16], %r1;\nld.const.f32 %f1, [half];\nld.param.f32 %f2, [k_param_2];\nadd.f32 %f1, %f1, %f2;\nst.global.f32 "
      "[%rd1+20], %f1;\nmov.u32 %r3, dynamic;\nmov.u32 %r4, fixed;\nst.global.u32 [%rd1+24], "
      "%r3;\nst.global.u32 [%rd1+28], %r4;\nld.global.f32 %f1, [numbers+8];\nst.global.f32 [%rd1+32], %f1;\nmov.u64 %rd4, "
      "k_param_0;\nld.param.u64 %rd5, [%rd4+8];\nst.global.u64 [%rd1+40], %rd5;\nret;\n}\n\t.section\t"
      ".debug_str\n\t{\n$L__info0:\n.b8 95,90\n\t}\n");
  EXPECT_EQ(module.kernels(), std::vector<std::string>{"k"});
  const ptx::Code& kernel = *module.kernel("k");
  EXPECT_EQ(kernel.parameter_bytes, 24U);
  EXPECT_EQ(kernel.static_shared_bytes, 12U);
  EXPECT_EQ(kernel.dynamic_offset, 16U);
  EXPECT_EQ(module.variable("words").bytes, 16U);
  EXPECT_EQ(module.variable("nosuch").data, nullptr);
  alignas(8) std::uint32_t out[12] = {};
  run_kernel(module, "k", {{1, 1, 1}, {1, 1, 1}, 64}, nullptr, nullptr, View{out, 77}, std::uint8_t{200}, 1.25F);
  const auto number = [&](int i) {
    float value = 0;
    std::memcpy(&value, &out[i], 4);
    return value;
  };
  EXPECT_EQ(out[0], 200U);
  EXPECT_EQ(out[1], 255U);
  EXPECT_EQ(out[2], 77U);
  EXPECT_EQ(out[4], 200U);  // the inner %r1 is another one
  EXPECT_EQ(number(5), 1.75F);
  EXPECT_EQ(out[6], 16U);
  EXPECT_EQ(out[7], 0U);
  EXPECT_EQ(number(8), -3.0F);
  EXPECT_EQ(out[10], 77U);
}

// Every modifier that is ignored, and every other spelling, is accepted where it is written and means the plain instruction.
TEST(PtxModule, SpellingsThatMeanTheSame) {
  int spellings = 0;
  const auto loads = [&](const std::string& statement) {
    ++spellings;
    EXPECT_NO_THROW(ptx::Module(
        module_of(".visible .entry k(.param .u64 d)\n{\n.reg .b64 %o;\n.reg .b32 %r<4>;\n.reg .pred %p;\nt: .branchtargets e;\n" +
                  statement + "\ne:\nret;\n}\n")))
        << statement;
  };
  for (const ptx::IgnoredModifier& ignored : ptx::ignored_modifiers()) {
    const std::string opcode(ignored.opcode), start = opcode + "." + std::string(ignored.modifier);
    if (opcode == "ld")
      loads(start + ".global.u32 %r0, [%o];");
    else if (opcode == "st")
      loads(start + ".global.u32 [%o], %r0;");
    else if (opcode == "atom")
      loads(start + ".global.add.u32 %r0, [%o], 1;");
    else if (opcode == "red")
      loads(start + ".global.add.u32 [%o], 1;");
    else if (opcode == "bra")
      loads(start + " e;");
    else if (opcode == "ret")
      loads(start + ";");
    else if (opcode == "brx")
      loads("brx.idx.uni %r0, t;");
    else if (opcode == "bar" || opcode == "barrier")
      loads(start + ".sync 0;");
    else if (opcode == "cp")
      loads("cp.async.ca.shared.global." + std::string(ignored.modifier) + " [%r0], [%o], 16;");
    else if (opcode == "call")
      ++spellings;  // control_cases calls with it
    else
      ADD_FAILURE() << "modifier " << ignored.modifier << " of " << opcode << " is accepted and not tested";
  }
  for (const ptx::Synonym& synonym : ptx::synonyms()) {
    const std::string spelled(synonym.spelled), canonical(synonym.canonical);
    EXPECT_EQ(ptx::canonical_opcode(spelled), canonical);
    if (canonical == "fence")
      loads(spelled + ";");
    else if (canonical == "prefetch")
      loads(spelled + " [%o];");
    else if (canonical == "bar.sync")
      loads(spelled + " 1;");
    else if (canonical == "bar.arrive")
      loads(spelled + " 1, 64;");
    else if (canonical == "bar.red.popc.u32")
      loads(spelled + " %r0, 0, %p;");
    else
      loads(spelled + " %p, 0, !%p;");
  }
  EXPECT_EQ(ptx::canonical_opcode("ld.relaxed.gpu.global.L1::no_allocate.v4.f32"), "ld.global.v4.f32");
  EXPECT_EQ(ptx::canonical_opcode("st.shared::cta.u32"), "st.shared.u32");
  std::cout << spellings << " spellings\n";
}

}  // namespace

}  // namespace lockstep::testing
