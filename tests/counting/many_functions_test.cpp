// Kernels with so many counters in their device functions that these are flushed by the shortest code.
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/handler_sites.h"
#include "tests/cod/test_support.h"
#include "tests/counting/fixture.h"
#include "tests/ptx/parse.h"

namespace lynxpp::cod {
namespace {

/// Loops and conditions that vary by lane; odd functions read memory. From one function, threads with an
/// index of 60 or more never return, so no function can pass its counters to its caller.
std::string function_text(int index) {
  const std::string number = std::to_string(index);
  std::string text =
      ".func (.param .b32 result) f" + number +
      "(.param .b32 given, .param .b64 place)\n{\n.reg .pred %p<3>;\n.reg .b32 %r<6>;\n"  // english: ok
      ".reg .b64 %rd<2>;\nld.param.u32 %r1, [given];\nld.param.u64 %rd1, [place];\n"      // english: ok
      "mov.u32 %r5, %tid.x;\nmov.u32 %r2, 0;\nmov.u32 %r3, 0;\n";
  if (index == 1) text += "setp.ge.u32 %p1, %r5, 60;\n@%p1 exit;\n";
  for (const std::string part : {"A", "B", "C", "D"}) {
    text += part + ": add.u32 %r2, %r2, 1;\nadd.u32 %r4, %r1, " + number +
            ";\nxor.b32 %r4, %r4, %r2;\nand.b32 %r4, %r4, 3;\nsetp.eq.u32 %p1, %r4, 1;\n@%p1 bra E" + part +
            ";\nmad.lo.u32 %r3, %r3, 5, %r2;\n";
    if (index % 2 == 1) text += "ld.global.u32 %r4, [%rd1];\nadd.u32 %r3, %r3, %r4;\n";
    text += "E" + part + ": and.b32 %r4, %r5, 7;\nsetp.lt.u32 %p2, %r2, %r4;\n@%p2 bra " + part +
            ";\nmov.u32 %r2, 0;\n";
  }
  return text + "st.param.b32 [result], %r3;\nret;\n}\n";
}

std::string calling(int functions) {
  std::string all, body;
  for (int i = 0; i < functions; ++i) {
    all += function_text(i);
    body +=
        "{ .param .b32 g; .param .b64 p; .param .b32 r;\nst.param.b32 [g], %r5;\nst.param.b64 [p], "
        "%rd1;\ncall (r), f" +
        std::to_string(i) + ", (g, p);\nld.param.b32 %r9, [r];\nadd.u32 %r8, %r8, %r9; }\n";
  }
  return module_of(all, body + "st.global.u32 [%rd1], %r8;\nret;");
}

const char* const sectors = R"(
global unsigned long sectors[INSTRUCTIONS];
global unsigned long bytes[INSTRUCTIONS];
ON_INSTRUCTION: MEM_READ: GLOBAL: {
  int first = firstInSector();
  if (first) atomicAdd(&sectors[instructionId()], 1);
  atomicAdd(&bytes[instructionId()], accessSize());
}
)";

TEST(ManyFunctions, MatchTheDevicesCounters) {
  CountedLaunch launch(calling(4), 2, 75);
  launch.native();
  for (const int sm : {75, 90}) {
    EXPECT_TRUE(launch.is_exact(false, sm));
    EXPECT_TRUE(launch.has_exact_sums(false, sm));
  }
  EXPECT_TRUE(launch.is_exact(true));
  launch.count(threads_only, false, false, 90);
  if (has_ptxas()) {
    EXPECT_EQ(ptxas_errors(launch.variant(), 80), "");
  }
}

TEST(ManyFunctions, SectorsMatchPlainHandlers) {
  CountedLaunch launch(calling(4), 2, 75);
  launch.native();
  const auto plain = launch.count(sectors, true, false, 90);
  for (const int sm : {75, 90}) {
    EXPECT_EQ(launch.count(sectors, false, false, sm), plain) << "sm_" << sm;
  }
}

/// The driver defines vprintf().
TEST(ManyFunctions, KernelsThatPrintAreCounted) {
  CountedLaunch launch(
      module_of(".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n",
                "setp.lt.u32 %p1, %r3, 1025;\n@%p1 bra E;\n{ .param .b64 f; .param .b64 a; .param .b32 r;\n"
                "st.param.b64 [f], %rd1;\nst.param.b64 [a], %rd1;\ncall (r), vprintf, (f, a); }\n"
                "E: st.global.u32 [%rd1], %r8;\nret;"),
      2, 40);
  launch.native();
  EXPECT_TRUE(launch.is_exact()) << launch.variant();
}

TEST(HandlerSites, AKernelWithoutRetEndsAfterItsLastInstruction) {
  ptx::Module module = ptx::module_of(
      ".visible .entry k(.param .u64 out)\n{\n.reg .b64 %rd<2>;\nld.param.u64 %rd1, [out];\n"
      "st.global.u64 [%rd1], %rd1;\n}\n");
  const auto specification = compiled("global int n;\nON_KERNEL_EXIT: { atomicAdd(&n, 1); }\n");
  const auto found = engine::find_handler_sites(module, "k", *specification);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ(found->front().sites.size(), 1u);
}

}  // namespace
}  // namespace lynxpp::cod
