#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "instrumentors/catalogue.h"
#include "tests/cli/process.h"

namespace lynxpp::cli {
namespace {

using testing::HasSubstr;

constexpr const char* counter =
    "// Counts block executions.\n"
    "global unsigned long counts[BASIC_BLOCKS];\n"
    "ON_BASIC_BLOCK_ENTRY: {\n"
    "  atomicMax(&counts[basicBlockId()], 1);\n"
    "}\n";

TEST(Check, SummarizesAValidSpecification) {
  const TemporaryFolder folder;
  const std::string path = folder.write("good.cod", counter);
  const Outcome outcome = lynxpp({"check", path});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, testing::StartsWith(path + ": ok, 1 handler, 1 array, 0 per-thread variables"));
  EXPECT_EQ(outcome.err, "");
}

TEST(Check, ErrorHasLocationLineAndCaret) {
  const TemporaryFolder folder;
  const std::string path = folder.write("bad.cod",
                                        "global unsigned long counts[BASIC_BLOCKS];\n"
                                        "ON_BASIC_BLOCK_ENTRY: {\n"
                                        "  atomicAdd(&counts[basicBlockIdd()], 1);\n"
                                        "}\n");
  const Outcome outcome = lynxpp({"check", path});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, testing::StartsWith(path + ":3:21: error: "));
  EXPECT_THAT(
      outcome.err,
      HasSubstr("\n    atomicAdd(&counts[basicBlockIdd()], 1);\n                      ^~~~~~~~~~~~~\n"));
  EXPECT_THAT(outcome.err, HasSubstr("basicBlockId"));
}

TEST(Check, FailsIfOneOfSeveralFilesHasErrors) {
  const TemporaryFolder folder;
  const std::string good = folder.write("good.cod", counter);
  const std::string bad = folder.write("bad.cod", "ON_KERNEL_ENTRY: { int x = ; }\n");
  const Outcome outcome = lynxpp({"check", bad, good, "./absent.cod"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, testing::StartsWith(good + ": ok"));
  EXPECT_THAT(outcome.err, testing::StartsWith(bad + ":1:"));
  EXPECT_THAT(outcome.err,
              HasSubstr("lynxpp: error: cannot read specification './absent.cod': no such file\n"));
}

TEST(Check, OneLinerDeclaresItsVariables) {
  const Outcome outcome = lynxpp(
      {"check", "-e", "ON_INSTRUCTION: MEM_READ: SHARED: count[sourceLine()]++;", "-e",
       "ON_KERNEL_ENTRY: { x[laneId()]++; d += 1.5; record(&h, smId()); append(&t, blockId(), smId()); }"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_THAT(outcome.out, HasSubstr("one-liner: ok, 1 handler"));
  EXPECT_THAT(outcome.out, HasSubstr("one-liner-2: ok, 1 handler"));
}

TEST(Check, ErrorInAOneLinerHasLocation) {
  const Outcome outcome = lynxpp({"check", "-e", "ON_KERNEL_ENTRY: a[blokId()]++;"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.err,
            "one-liner:1:20: error: unknown function 'blokId()'\n"
            "  ON_KERNEL_ENTRY: a[blokId()]++;\n"
            "                     ^~~~~~\n"
            "  hint: did you mean 'blockId'?\n");
}

TEST(Check, RejectsUsesThatCannotDeclareAVariable) {
  const Outcome least = lynxpp({"check", "-e", "ON_KERNEL_ENTRY: atomicMin(&a, 3);"});
  EXPECT_EQ(least.exit_code, 1);
  EXPECT_THAT(least.err,
              HasSubstr("one-liner:1:29: error: the minimum of 'a' would always be its initial value, 0"));
  const Outcome indices = lynxpp({"check", "-e", "ON_KERNEL_ENTRY: a[3][laneId()]++;"});
  EXPECT_EQ(indices.exit_code, 1);
  EXPECT_THAT(indices.err, HasSubstr("only its last index may be an arbitrary value"));
}

TEST(Check, ReadingAVariableDoesNotDeclareIt) {
  const Outcome outcome = lynxpp({"check", "-e", "ON_KERNEL_ENTRY: if (limit > 3) n++;"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("'limit'"));
}

TEST(Check, NoSpecificationIsAUsageError) {
  const Outcome outcome = lynxpp({"check"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("no specification to check"));
}

TEST(List, PrintsTheTextOfASpecification) {
  const auto known = instrumentors::find_specification("instruction_count");
  ASSERT_TRUE(known);
  EXPECT_EQ(lynxpp({"list", "instruction_count"}).out, known->source);
  EXPECT_EQ(lynxpp({"list", "instruction_coun"}).exit_code, 2);
}

TEST(Help, ShowsACommandByName) {
  EXPECT_EQ(lynxpp({"help", "check"}).out, lynxpp({"check", "--help"}).out);
  EXPECT_EQ(lynxpp({"help"}).out, lynxpp({"--help"}).out);
}

TEST(Check, EmitsThePtxOfEveryHandler) {
  const TemporaryFolder folder;
  const Outcome outcome = lynxpp({"check", "--emit-ptx", "--sm", "80", folder.write("good.cod", counter)});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, testing::StartsWith("// good: ON_BASIC_BLOCK_ENTRY of line 3\n"));
  EXPECT_THAT(outcome.out, HasSubstr(".target sm_80"));
  EXPECT_THAT(outcome.out, HasSubstr("__lynxpp_site_basic_block_id"));
}

TEST(Check, ShowsHandlersThatNeedNoCode) {
  const TemporaryFolder folder;
  const std::string counted = folder.write(
      "counted.cod",
      "global unsigned long counts[BASIC_BLOCKS];\nON_BASIC_BLOCK_ENTRY: { counts[basicBlockId()] += 1; }\n");
  const Outcome outcome = lynxpp({"check", "--emit-ptx", counted});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out,
            "// counted: ON_BASIC_BLOCK_ENTRY of line 2\n// no code at its sites: counted on few edges of "
            "the control flow\n\n");
}

constexpr const char* two_kernels =
    ".version 8.0\n.target sm_80\n.address_size 64\n.file 1 \"src/k.cu\"\n"
    ".visible .entry _Z1kPf(.param .u64 p)\n{\n.reg .b64 %rd<2>;\n.reg .f32 %f<3>;\n.reg .pred %p<2>;\n"
    ".loc 1 4 1\n  ld.param.u64 %rd1, [p];\n  @%p1 ld.f32\n    %f1, [%rd1];\n  @%p1 bra $end;\n"
    "  st.global.f32 [%rd1], %f1;\n$end:\n  ret;\n}\n"
    ".visible .entry other()\n{\n  ret;\n}\n";

TEST(Explain, EverySiteHasLinesAndInstruction) {
  const TemporaryFolder folder;
  const std::string ptx = folder.write("k.ptx", two_kernels);
  const std::string spec = folder.write("s.cod",
                                        "ON_INSTRUCTION: GENERIC: { }\nON_BASIC_BLOCK_EXIT: { }\n"
                                        "ON_INSTRUCTION_AFTER: { }\nON_KERNEL_EXIT: { }\n");
  const Outcome outcome = lynxpp({"check", spec, "--explain", ptx, "-k", "k"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              testing::StartsWith(spec +
                                  ": k(float*): ON_INSTRUCTION of line 1: 1 site\n"
                                  "  line 12     block 0    @%p1 ld.f32 %f1, [%rd1];  // src/k.cu:4\n" +
                                  spec +
                                  ": k(float*): ON_BASIC_BLOCK_EXIT of line 2: 3 sites\n"
                                  "  line 14     block 0    @%p1 bra $end;  // src/k.cu:4\n"));
  EXPECT_THAT(outcome.out, HasSubstr("ON_INSTRUCTION_AFTER of line 3: 3 sites\n"));
  EXPECT_THAT(outcome.out, HasSubstr("ON_KERNEL_EXIT of line 4: 1 site\n  line 17     block 2    ret;"));
  EXPECT_THAT(outcome.out, testing::Not(HasSubstr("other")));
}

TEST(Explain, HandlerWithoutASiteGetsAHint) {
  const TemporaryFolder folder;
  const std::string ptx = folder.write("k.ptx", two_kernels);
  const auto hint_of = [&](const std::string& labels) {
    const std::string spec = folder.write("s.cod", "ON_INSTRUCTION: " + labels + ": { }\n");
    const Outcome outcome = lynxpp({"check", spec, "--explain", ptx, "-k", "_Z1kPf"});
    EXPECT_THAT(outcome.out, HasSubstr(": 0 sites\n")) << labels;
    const std::size_t hint = outcome.out.find("hint: ");
    return hint == std::string::npos ? outcome.out
                                     : outcome.out.substr(hint + 6, outcome.out.size() - hint - 7);
  };
  EXPECT_EQ(hint_of("MEM_READ: GLOBAL"),
            "MEM_READ in this kernel: GENERIC, PARAM; add GENERIC, and query accessSpace() for the space of "
            "its pointers");
  EXPECT_EQ(hint_of("ATOMIC"), "no instruction is ATOMIC");
  EXPECT_EQ(hint_of("OPCODE(\"st.shared.*\")"),
            "no opcode matches the pattern; the kernel has st.global.f32");
  EXPECT_EQ(hint_of("CALL_TARGET(\"malloc\")"), "the kernel calls nothing");
  EXPECT_EQ(hint_of("SOURCE(\"k.cu\", 5, 9)"),
            "no instruction comes from these lines; the kernel's files are src/k.cu");
  EXPECT_EQ(hint_of("KERNEL(\"other\")"), "its KERNEL filter does not match this kernel");
  EXPECT_EQ(hint_of("BRANCH: OPCODE(\"ld.*\")"), "no instruction matches all of the handler's filters");
}

TEST(Explain, LoopsAreChosenByLine) {
  const TemporaryFolder folder;
  const std::string ptx =
      folder.write("k.ptx",
                   ".version 8.0\n.target sm_80\n.address_size 64\n.file 1 \"src/k.cu\"\n"
                   ".visible .entry k()\n{\n.reg .pred %p<2>;\n.loc 1 4 1\nbegin:\n  mov.pred %p1, 0;\n"
                   "  .loc 1 5 1\n  @%p1 bra begin;\n  ret;\n}\n");
  const auto explained = [&](const std::string& handler) {
    const std::string spec = folder.write("s.cod", handler + ": { }\n");
    return lynxpp({"check", spec, "--explain", ptx, "-k", "k"}).out;
  };
  for (const std::string target : {"ON_LOOP_ENTRY", "ON_LOOP_ITERATION", "ON_LOOP_EXIT"}) {
    EXPECT_THAT(explained(target + ": SOURCE(\"k.cu\", 5)"), HasSubstr(": 1 site\n")) << target;
    EXPECT_THAT(explained(target + ": SOURCE(\"k.cu\", 6, 9)"),
                HasSubstr("0 sites\n  hint: no instruction comes from these lines; the kernel's files are "
                          "src/k.cu"))
        << target;
  }
}

TEST(Explain, JsonHasTheSameSites) {
  const TemporaryFolder folder;
  const std::string ptx = folder.write("k.ptx", two_kernels);
  const std::string spec = folder.write("s.cod", "ON_KERNEL_ENTRY: { }\n");
  const Outcome outcome = lynxpp({"check", spec, "--explain", ptx, "--json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(
      outcome.out,
      "{\"spec\":\"s\",\"kernel\":\"_Z1kPf\",\"demangled\":\"k(float*)\",\"target\":\"ON_KERNEL_ENTRY\","
      "\"line\":1,"
      "\"count\":1,\"without_code\":false,\"places\":[{"  // english: ok
      "\"function\":\"_Z1kPf\",\"block\":0,\"ptx_line\":11,"
      "\"file\":\"src/"
      "k.cu\",\"line\":4,"
      "\"instruction\":\"ld.param.u64 %rd1, [p];\"}]}\n"
      "{\"spec\":\"s\",\"kernel\":\"other\",\"demangled\":\"other\",\"target\":\"ON_KERNEL_ENTRY\",\"line\":"
      "1,"
      "\"count\":1,\"without_code\":false,\"places\":[{"  // english: ok
      "\"function\":\"other\",\"block\":0,\"ptx_line\":21,"
      "\"file\":null,\"line\":0,"
      "\"instruction\":\"ret;\"}]}\n");
}

TEST(Explain, UnreadableFileIsAnError) {
  const TemporaryFolder folder;
  const std::string spec = folder.write("s.cod", "ON_KERNEL_ENTRY: { }\n");
  EXPECT_EQ(lynxpp({"check", spec, "--explain", folder.path("absent.ptx")}).exit_code, 1);
  EXPECT_EQ(lynxpp({"check", spec, "--json"}).exit_code, 2) << "only with --explain";
}

TEST(Check, AcceptsEveryReadyMadeSpecification) {
  std::vector<std::string> arguments{"check"};
  for (const instrumentors::ReadyMade& entry : instrumentors::ready_made())
    arguments.emplace_back(entry.name);
  ASSERT_GT(arguments.size(), 1u);
  const Outcome outcome = lynxpp(arguments);
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
  for (const instrumentors::ReadyMade& entry : instrumentors::ready_made()) {
    EXPECT_THAT(outcome.out, HasSubstr("ready-made/" + std::string(entry.name) + ".cod: ok, "));
  }
}

}  // namespace
}  // namespace lynxpp::cli
