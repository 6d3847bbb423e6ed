// Handlers at every kind of site: their counts match the device's own counters.
#include <gtest/gtest.h>

#include "tests/cod/conformance_fixture.h"

namespace lynxpp::cod {
namespace {

struct PlacesCase {
  const char* name;
  std::string file_scope;
  std::string parameters;
  std::string body;
  bool callee_exits = false;  ///< some calls do not return
};

std::string module_of(const PlacesCase& each) {
  // Large parameters require PTX 8.1; one case must be raised to it.
  const bool is_large = each.parameters.find("[32") != std::string::npos;
  return std::string(is_large ? ".version 8.1" : ".version 8.0") +
         std::string("\n.target sm_80\n.address_size 64\n") + each.file_scope + ".visible .entry k(" +
         each.parameters + ")\n{\n" + each.body + "}\n";
}

constexpr const char* in_and_out = ".param .u64 in, .param .u64 out";
#define REGISTERS                                                                                      \
  "  .reg .pred %p<4>;\n  .reg .b32 %r<9>;\n  .reg .b64 %rd<9>;\n  mov.u32 %r1, %tid.x;\n"             \
  "  ld.param.u64 %rd2, [out];\n  mul.wide.u32 %rd3, %r1, 4;\n  add.u64 %rd2, %rd2, %rd3;\n  mov.u32 " \
  "%r2, 0;\n  setp.lt.u32 %p1, %r1, 7;\n"
#define STORE "  st.global.u32 [%rd2], %r2;\n"

constexpr const char* call_helper =
    "  {\n  .param .b32 a;\n  .param .b32 r;\n  st.param.b32 [a], %r1;\n  call (r), helper, (a);\n"
    "  ld.param.b32 %r2, [r];\n  }\n";

const PlacesCase cases[] = {
    {"only_ret", "", in_and_out, "  ret;\n"},
    {"no_instruction", "", in_and_out, ""},
    {"no_parameters", "", "", "  .reg .b32 %r<3>;\n  mov.u32 %r1, %tid.x;\n  add.u32 %r2, %r1, 1;\n  ret;\n"},
    {"parameters_of_4_KB", "", ".param .u64 in, .param .u64 out, .param .align 8 .b8 pad[4080]",
     REGISTERS "  ld.param.u32 %r2, [pad+4072];\n" STORE "  ret;\n"},
    {"parameters_that_need_a_newer_version", "",
     ".param .u64 in, .param .u64 out, .param .align 8 .b8 pad[4336]",
     REGISTERS "  ld.param.u32 %r2, [pad+4332];\n" STORE "  ret;\n"},
    {"parameters_of_nearly_32_KB", "", ".param .u64 in, .param .u64 out, .param .align 8 .b8 pad[32616]",
     REGISTERS "  ld.param.u32 %r2, [pad+32612];\n" STORE "  ret;\n"},
    {"guarded_trap_that_no_thread_executes", "", in_and_out,
     REGISTERS "  setp.gt.u32 %p2, %r1, 1023;\n  @%p2 trap;\n" STORE "  ret;\n"},
    {"trap_in_a_block_of_its_own", "", in_and_out,
     REGISTERS "  setp.lt.u32 %p2, %r1, 1024;\n  @%p2 bra $go;\n  trap;\n$go:\n" STORE "  exit;\n"},
    {"single_block_that_branches_to_itself", "", in_and_out,
     "  .reg .pred %p<2>;\n  .reg .b32 %r<3>;\n  mov.u32 %r1, 0;\n$self:\n  add.u32 %r1, %r1, 1;\n"
     "  setp.lt.u32 %p1, %r1, 4;\n  @%p1 bra $self;\n"},
    {"elements_of_arrays", ".global .u32 table[64];\n", in_and_out,
     REGISTERS "  .shared .b32 tile[64];\n  st.shared.u32 tile[%r1], %r1;\n  st.global.u32 table[%r1], %r1;\n"
               "  @%p1 ld.shared.u32 %r2, tile[%r1];\n  @!%p1 ld.global.u32 %r2, table[%r1];\n" STORE
               "  ret;\n"},
    {"guarded_instructions", "", in_and_out,
     REGISTERS
     "  @%p1 add.u32 %r2, %r1, 3;\n  @!%p1 mov.u32 %r2, 4;\n  @%p1 st.global.u32 [%rd2], %r2;\n  ret;\n"},
    {"guarded_exits", "", in_and_out,
     REGISTERS "  @%p1 exit;\n  setp.gt.u32 %p2, %r1, 20;\n  @!%p2 ret;\n" STORE "  ret;\n"},
    {"falls_off_the_end", "", in_and_out, REGISTERS STORE},
    {"ends_in_a_guarded_return", "", in_and_out, REGISTERS STORE "  @%p1 ret;\n"},
    {"ends_in_a_guarded_trap", "", in_and_out,
     REGISTERS STORE "  setp.gt.u32 %p2, %r1, 1023;\n  @%p2 trap;\n"},
    {"ends_in_a_call",
     ".func helper(.param .b64 p)\n{\n  .reg .b64 %rd<2>;\n  ld.param.b64 %rd1, [p];\n  st.global.u32 "
     "[%rd1], 77;\n}\n",
     in_and_out, REGISTERS STORE "  .param .b64 a;\n  st.param.b64 [a], %rd2;\n  call helper, (a);\n"},
    {"function_that_ends_in_a_guarded_branch",
     ".func helper(.param .b64 p)\n{\n  .reg .pred %p<2>;\n  .reg .b32 %r<3>;\n  .reg .b64 %rd<2>;\n"
     "  ld.param.b64 %rd1, [p];\n  mov.u32 %r1, 0;\n$again:\n  add.u32 %r1, %r1, 1;\n  st.global.u32 [%rd1], "
     "%r1;\n"
     "  setp.lt.u32 %p1, %r1, 3;\n  @%p1 bra $again;\n}\n",
     in_and_out,
     REGISTERS "  {\n  .param .b64 a;\n  st.param.b64 [a], %rd2;\n  call helper, (a);\n  }\n  ret;\n"},
    {"guarded_end_of_a_block_that_falls_through", "", in_and_out,
     REGISTERS "  @%p1 mov.u32 %r2, 5;\n$next:\n  @%p1 add.u32 %r2, %r2, 1;\n$last:\n" STORE "  ret;\n"},
    {"empty_blocks", "", in_and_out,
     REGISTERS "$a:\n$b:\n  @%p1 bra $c;\n" STORE
               "$c:\n$d:\n  @!%p1 bra $end;\n  st.global.u32 [%rd2], 9;\n$end:\n"},
    {"unreachable_blocks", "", in_and_out,
     REGISTERS "  bra $end;\n$dead:\n  add.u32 %r2, %r2, 1;\n  bra $dead;\n$end:\n" STORE
               "  ret;\n  add.u32 %r2, %r2, 2;\n"},
    {"divergent_loop", "", in_and_out,
     REGISTERS "  and.b32 %r3, %r1, 3;\n$loop:\n  add.u32 %r2, %r2, %r3;\n  @%p1 add.u32 %r2, %r2, 1;\n  "
               "sub.u32 %r3, %r3, 1;\n"
               "  setp.gt.s32 %p2, %r3, 0;\n  @%p2 bra $loop;\n" STORE "  ret;\n"},
    {"loop_to_the_entry", "", in_and_out,
     "  .reg .pred %p<2>;\n  .reg .b32 %r<3>;\n$begin:\n  add.u32 %r1, %r1, 1;\n  setp.lt.u32 %p1, %r1, 4;\n "
     " @%p1 bra $begin;\n"
     "  ret;\n"},
    {"branch_tables", "", in_and_out,
     REGISTERS "  and.b32 %r3, %r1, 1;\n$targets: .branchtargets $even, $odd;\n  brx.idx %r3, "
               "$targets;\n$even:\n  mov.u32 %r2, 2;\n"
               "  bra $end;\n$odd:\n  mov.u32 %r2, 3;\n$end:\n" STORE "  ret;\n"},
    {"device_function",
     ".func (.param .b32 r) helper(.param .b32 n)\n{\n  .reg .pred %p<2>;\n  .reg .b32 %r<4>;\n  "
     "ld.param.b32 %r1, [n];\n"
     "  setp.gt.u32 %p1, %r1, 5;\n  @%p1 add.u32 %r1, %r1, 100;\n  st.param.b32 [r], %r1;\n  @%p1 ret;\n"
     "  add.u32 %r1, %r1, 1;\n  st.param.b32 [r], %r1;\n  ret;\n}\n",
     in_and_out, std::string(REGISTERS) + call_helper + STORE + "  ret;\n"},
    {"function_that_exits",
     ".func (.param .b32 r) helper(.param .b32 n)\n{\n  .reg .pred %p<2>;\n  .reg .b32 %r<4>;\n  "
     "ld.param.b32 %r1, [n];\n"
     "  setp.gt.u32 %p1, %r1, 5;\n  @%p1 exit;\n  st.param.b32 [r], %r1;\n  ret;\n}\n",
     in_and_out, std::string(REGISTERS) + call_helper + STORE + "  ret;\n", true},
    {"guarded_call",
     ".func helper(.param .b64 p)\n{\n  .reg .b64 %rd<2>;\n  ld.param.b64 %rd1, [p];\n  st.global.u32 "
     "[%rd1], 77;\n}\n",
     in_and_out,
     REGISTERS STORE
     "  {\n  .param .b64 a;\n  st.param.b64 [a], %rd2;\n  @%p1 call helper, (a);\n  }\n  ret;\n"},
    {"recursion",
     ".func (.param .b32 r) helper(.param .b32 n);\n"
     ".func (.param .b32 r) helper(.param .b32 n)\n{\n  .reg .pred %p<2>;\n  .reg .b32 %r<4>;\n  "
     "ld.param.b32 %r1, [n];\n"
     "  and.b32 %r1, %r1, 7;\n  setp.eq.u32 %p1, %r1, 0;\n  mov.u32 %r3, 0;\n  @%p1 bra $end;\n  sub.u32 "
     "%r2, %r1, 1;\n"
     "  {\n  .param .b32 a;\n  .param .b32 q;\n  st.param.b32 [a], %r2;\n  call (q), helper, (a);\n  "
     "ld.param.b32 %r3, [q];\n"
     "  }\n  add.u32 %r3, %r3, %r1;\n$end:\n  st.param.b32 [r], %r3;\n  ret;\n}\n",
     in_and_out, std::string(REGISTERS) + call_helper + STORE + "  ret;\n"},
};

constexpr const char* counts_everything = R"(
  global unsigned long entries; global unsigned long exits; global unsigned long block_entries; global unsigned long block_exits;
  global unsigned long in_blocks; global unsigned long executed; global unsigned long after; global unsigned long jumps;
  unsigned int instructions;
  ON_KERNEL_ENTRY: { atomicAdd(&entries, 1); }
  ON_KERNEL_EXIT: { atomicAdd(&exits, 1); atomicAdd(&in_blocks, instructions); }
  ON_BASIC_BLOCK_ENTRY: { atomicAdd(&block_entries, 1); }
  ON_BASIC_BLOCK_EXIT: { atomicAdd(&block_exits, 1); instructions += basicBlockExecutedInstructionCount(); }
  ON_INSTRUCTION: { atomicAdd(&executed, getPredicateValue()); }
  ON_INSTRUCTION: OPCODE("bra*"): OPCODE("ret*"): OPCODE("exit*"): { atomicAdd(&jumps, getPredicateValue()); }
  ON_INSTRUCTION: OPCODE("brx*"): { atomicAdd(&jumps, 1); }
  ON_INSTRUCTION_AFTER: { atomicAdd(&after, 1); })";

class Places : public testing::TestWithParam<PlacesCase> {};

TEST_P(Places, CountsMatchTheDevices) {
  for (const std::uint32_t threads : {1u, 33u, 64u}) {
    const Measured measured =
        measure_module(counts_everything, Shape{{1, 1, 1}, {threads, 1, 1}}, module_of(GetParam()));
    ASSERT_EQ(measured.failure, "");
    const auto expected = static_cast<double>(measured.thread_instructions);
    EXPECT_EQ(measured["entries"], threads);
    EXPECT_EQ(measured["exits"], threads);
    EXPECT_EQ(measured["block_entries"], measured["block_exits"]);
    EXPECT_EQ(measured["in_blocks"], expected);
    EXPECT_EQ(measured["executed"], expected);
    const double returned = measured["after"] + measured["jumps"];
    if (GetParam().callee_exits) {
      EXPECT_LE(returned, expected);
    } else {
      EXPECT_EQ(returned, expected);
    }
  }
}

/// One handler alone, with code that must run at its site, so that no other handler makes room for it.
struct TargetCase {
  const char* name;
  std::string specification;  ///< adds 1 to `n` at each run of the handler, thread by thread
  bool is_everywhere = true;  ///< every kernel that runs has such a site
};

const TargetCase targets[] = {
    {"kernel_entry", "ON_KERNEL_ENTRY: { atomicAdd(&n, 1 + zero * clockCounter()); }"},
    {"kernel_exit", "ON_KERNEL_EXIT: { atomicAdd(&n, 1 + zero * clockCounter()); }"},
    {"block_entry", "ON_BASIC_BLOCK_ENTRY: { atomicAdd(&n, 1 + zero * clockCounter()); }"},
    {"block_exit", "ON_BASIC_BLOCK_EXIT: { atomicAdd(&n, 1 + zero * clockCounter()); }"},
    {"instruction", "ON_INSTRUCTION: { atomicAdd(&n, getPredicateValue() + zero * clockCounter()); }"},
    {"memory",
     "ON_INSTRUCTION: MEM_READ: MEM_WRITE: { atomicAdd(&n, getPredicateValue() + zero * (memoryAddress() + "
     "accessSize())); }",
     false},
    {"predicated",
     "ON_INSTRUCTION: PREDICATED: { atomicAdd(&n, 1 + zero * (instructionId() + sourceLine())); }", false},
    {"branch", "ON_INSTRUCTION: BRANCH: { atomicAdd(&n, 1 + zero * clockCounter()); }", false},
    {"after", "ON_INSTRUCTION_AFTER: { atomicAdd(&n, 1 + zero * clockCounter()); }", false},
    {"private",
     "unsigned int mine; ON_BASIC_BLOCK_EXIT: { mine += 1 + zero * clockCounter(); } "
     "ON_KERNEL_EXIT: { atomicAdd(&n, mine); }"},
};

class EachTarget : public testing::TestWithParam<TargetCase> {};

/// The handler's code at each site yields the same count as counting; the fixture checks outputs and ptxas.
TEST_P(EachTarget, WorksAloneAtEverySite) {
  const std::string& code = GetParam().specification;
  std::string counted = code;
  for (std::size_t at = counted.find(" + zero"); at != std::string::npos; at = counted.find(" + zero", at)) {
    std::size_t end = at + 1;
    for (int open = 0; end < counted.size() && (open > 0 || (counted[end] != ')' && counted[end] != ';'));
         ++end)
      open += counted[end] == '(' ? 1 : counted[end] == ')' ? -1 : 0;
    counted.erase(at, end - at);
  }
  for (const PlacesCase& each : cases) {
    SCOPED_TRACE(each.name);
    const Shape shape{{1, 1, 1}, {45, 1, 1}};
    const Measured executed =
        measure_module("global unsigned long n; unsigned int zero = 0; " + code, shape, module_of(each));
    ASSERT_EQ(executed.failure, "");
    const Measured expected =
        measure_module("global unsigned long n; " + counted, shape, module_of(each), false);
    ASSERT_EQ(expected.failure, "");
    EXPECT_EQ(executed["n"], expected["n"]) << counted;
    if (GetParam().is_everywhere && executed.thread_instructions != 0) {
      EXPECT_GT(executed["n"], 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Each, EachTarget, testing::ValuesIn(targets),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(EarlyTrap, EndsTheLaunchAsWithoutInstrumentation) {
  const Measured measured =
      measure_module(counts_everything, Shape{{1, 1, 1}, {33, 1, 1}},
                     module_of({"", "", in_and_out, REGISTERS "  @%p1 trap;\n" STORE "  ret;\n"}));
  EXPECT_NE(measured.failure.find("the kernel executed trap"), std::string::npos) << measured.failure;
}

TEST(Parameters, ThatLeaveNoRoomAreRejectedWithTheReason) {
  const Measured measured = measure_module(
      counts_everything, Shape{{1, 1, 1}, {1, 1, 1}},
      module_of({"", "", ".param .u64 in, .param .u64 out, .param .align 8 .b8 pad[32740]", "  ret;\n"}));
  EXPECT_NE(measured.failure.find("the kernel's own parameters take 32756 bytes"), std::string::npos)
      << measured.failure;
}

INSTANTIATE_TEST_SUITE_P(Each, Places, testing::ValuesIn(cases),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(Sampling, SelectsBlocksAndWarpsWithDivisibleIndices) {
  const Measured measured = measure(R"(
    global unsigned long blocks; global unsigned long same; global unsigned long warps; global unsigned long both; global unsigned long all;
    ON_KERNEL_EXIT: SAMPLE_BLOCKS(4): { atomicAdd(&blocks, 1); }
    ON_KERNEL_EXIT: EVERY(4): { atomicAdd(&same, 1); }
    ON_INSTRUCTION: OPCODE("ret"): SAMPLE_WARPS(3): { unsigned int lanes = activeThreadCount(); if (leastActiveThreadInWarp()) atomicAdd(&warps, lanes); }
    ON_KERNEL_ENTRY: SAMPLE_WARPS(2): SAMPLE_BLOCKS(2): { atomicAdd(&both, 1); }
    ON_KERNEL_EXIT: { atomicAdd(&all, 1); })",
                                    Shape{{10, 1, 1}, {96, 1, 1}});
  ASSERT_EQ(measured.failure, "");
  EXPECT_EQ(measured["blocks"], 3 * 96) << "blocks 0, 4 and 8";
  EXPECT_EQ(measured["same"], 3 * 96);
  EXPECT_EQ(measured["warps"], 10 * 32) << "warps 0, 3, … 27";
  EXPECT_EQ(measured["both"], 10 * 32) << "two warps of each of the blocks 0, 2, 4, 6 and 8";
  EXPECT_EQ(measured["all"], 960);
}

}  // namespace
}  // namespace lynxpp::cod
