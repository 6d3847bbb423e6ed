// Kernels whose thread blocks can wait for each other, and kernels whose blocks cannot.
#include "ptx/analysis/waiting/block_waits.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/analysis/analysed.h"

namespace lynxpp::ptx {
namespace {

bool waits(const std::string& text) {
  Module module = module_of(text);
  const Status parsed = parse_all_bodies(module, "test.ptx");
  EXPECT_TRUE(parsed.ok());
  return may_wait_for_blocks(module, module.functions.back());
}

bool body_waits(const std::string& body) {
  return waits(".visible .entry k(.param .u64 A, .param .u32 n)\n{\n" + declarations +
               "ld.param.u64 %rd1, [A];\nld.param.u32 %r9, [n];\nmov.u32 %r1, 0;\n" + body + "\nret;\n}\n");
}

std::string loop(const std::string& body) { return "LOOP:\n" + body + "\n@%p1 bra LOOP;"; }

const std::string counted = "add.s32 %r1, %r1, 1;\nsetp.lt.s32 %p1, %r1, %r9;";
const std::string decided = "setp.eq.s32 %p1, %r2, 0;";

TEST(BlockWaits, PollingLoopWaits) {
  for (const char* const read :
       {"ld.volatile.global.u32 %r2, [%rd1];", "ld.acquire.gpu.global.u32 %r2, [%rd1];",
        "ld.relaxed.sys.u32 %r2, [%rd1];", "ld.global.cv.u32 %r2, [%rd1];", "ld.global.cg.u32 %r2, [%rd1];",
        "ld.volatile.u32 %r2, [%rd1];", "atom.global.add.u32 %r2, [%rd1], 0;", "atom.or.b32 %r2, [%rd1], 0;",
        "ld.global.u32 %r2, [%rd1];\nmembar.gl;", "bar.sync 0;\nld.u32 %r2, [%rd1];"}) {
    EXPECT_TRUE(body_waits(loop(read + ("\n" + decided)))) << read;
  }
}

TEST(BlockWaits, ReadMustControlABranch) {
  for (const char* const read : {"ld.volatile.global.u32 %r2, [%rd1];", "atom.global.add.u32 %r2, [%rd1], 1;",
                                 "ld.global.u32 %r2, [%rd1];\nbar.sync 0;"}) {
    EXPECT_FALSE(body_waits(loop(read + ("\n" + counted)))) << read;
    EXPECT_FALSE(body_waits(std::string(read) + "\n" + decided + "\n@%p1 bra END;\nEND:"))
        << "no loop: " << read;
  }
}

TEST(BlockWaits, UnorderedWeakReadsAndBlockMemoryDoNotWait) {
  for (const char* const read :
       {"ld.global.u32 %r2, [%rd1];", "ld.global.nc.u32 %r2, [%rd1];", "ld.const.u32 %r2, [%rd1];",
        "ld.volatile.shared.u32 %r2, [%r1];", "atom.shared.add.u32 %r2, [%r1], 1;"}) {
    EXPECT_FALSE(body_waits(loop(read + ("\n" + decided)))) << read;
  }
}

TEST(BlockWaits, FollowsSharedMemoryAndPredicates) {
  EXPECT_TRUE(
      body_waits(loop("ld.acquire.gpu.global.u32 %r3, [%rd1];\nst.shared.u32 [%r9], %r3;\nbar.sync 0;\n"
                      "ld.shared.u32 %r2, [%r9];\n" +
                      decided)));
  EXPECT_TRUE(
      body_waits(loop("ld.volatile.global.u32 %r2, [%rd1];\nsetp.ne.u32 %p2, %r2, 0;\n"
                      "@%p2 mov.u32 %r4, 1;\nsetp.eq.u32 %p1, %r4, 0;")));
}

TEST(BlockWaits, BranchInsideTheLoopCounts) {
  EXPECT_TRUE(
      body_waits(loop("ld.volatile.global.u32 %r2, [%rd1];\nsetp.ne.u32 %p2, %r2, 0;\n@%p2 bra SKIP;\n"
                      "mov.u32 %r4, 1;\nSKIP:\nsetp.eq.u32 %p1, %r4, 0;")));
}

TEST(BlockWaits, ChecksIrreducibleCycles) {
  const std::string begin = "setp.eq.u32 %p3, %r9, 0;\n@%p3 bra B;\nA:\nadd.u32 %r4, %r4, 1;\nB:\n";
  EXPECT_TRUE(body_waits(begin + "ld.volatile.global.u32 %r2, [%rd1];\n" + decided + "\n@%p1 bra A;"));
  EXPECT_FALSE(body_waits(begin + "ld.global.u32 %r2, [%rd1];\n" + decided + "\n@%p1 bra A;"));
}

TEST(BlockWaits, FunctionsMayBeCalledInLoops) {
  const auto calling = [](const std::string& function) {
    return ".func f(.param .u64 P)\n{\n" + declarations + "ld.param.u64 %rd1, [P];\n" + function +
           "\nret;\n}\n.visible .entry k(.param .u64 A)\n{\n" + declarations +
           "ld.param.u64 %rd1, [A];\n{\n.param .b64 p0;\nst.param.b64 [p0], %rd1;\ncall.uni f, "
           "(p0);\n}\nret;\n}\n";
  };
  EXPECT_TRUE(waits(calling("ld.volatile.global.u32 %r2, [%rd1];")));
  EXPECT_TRUE(waits(calling("ld.global.u32 %r2, [%rd1];"))) << "a call makes the compiler read again";
  EXPECT_FALSE(waits(calling("st.global.u32 [%rd1], %r2;")));
}

TEST(BlockWaits, UnknownCalleesMayWait) {
  const auto calling = [](const std::string& name) {
    return ".extern .func " + name + "(.param .b64 p);\n.visible .entry k(.param .u64 A)\n{\n" +
           declarations + "{\n.param .b64 p0;\nst.param.b64 [p0], %rd1;\ncall.uni " + name +
           ", (p0);\n}\nret;\n}\n";
  };
  EXPECT_TRUE(waits(calling("elsewhere")));
  EXPECT_FALSE(waits(calling("free")));
}

}  // namespace
}  // namespace lynxpp::ptx
