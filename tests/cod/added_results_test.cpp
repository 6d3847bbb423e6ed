// Specifications whose results for several launches are sums (cod/sema/added_results.h).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "cod/specification.h"
#include "support/text.h"
#include "tests/cod/test_support.h"

namespace lynxpp::cod {
namespace {

bool are_added(const std::string& source) {
  const SpecificationPtr specification = compiled(source);
  return specification != nullptr && specification->added_results().has_value();
}

/// A specification with two counted arrays and this report.
bool are_added_in_report(const std::string& report) {
  return are_added(
      "global unsigned long a[INSTRUCTIONS]; global unsigned long b;\n"
      "ON_INSTRUCTION: { atomicAdd(&a[instructionId()], 1); b += accessSize(); }\n"
      "ON_REPORT: {" +
      report + "}");
}

TEST(AddedResults, ReadyMadeOnes) {
  std::vector<std::string> added;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(LYNXPP_SOURCE_DIR) + "/examples/specs")) {
    std::string source;
    if (entry.path().extension() != ".cod" || !read_file(entry.path().string(), source)) continue;
    if (are_added(source)) added.push_back(entry.path().stem().string());
  }
  EXPECT_THAT(added, testing::UnorderedElementsAre(
                         "async_operations", "branch_divergence", "instruction_count", "memory_efficiency",
                         "memory_transactions", "opcode_mix", "shared_bank_conflicts"));
}

TEST(AddedResults, ResultsAreNamedAsInRecords) {
  const SpecificationPtr specification = compiled(R"(
    global unsigned long a[INSTRUCTIONS];
    ON_INSTRUCTION: a[instructionId()] += 1;
    ON_REPORT: {
      emit("all", a, "instructions");
      emit("total", sum(a));
      emitRatio("share", sum(a), THREADS);
    })");
  ASSERT_NE(specification, nullptr);
  EXPECT_THAT(specification->added_results(),
              testing::Optional(testing::ElementsAre(AddedResult{"all", "instructions", true},
                                                     AddedResult{"total", "", false})));
  const SpecificationPtr silent = compiled("global unsigned long a; ON_KERNEL_ENTRY: a += 1;");
  ASSERT_NE(silent, nullptr);
  EXPECT_THAT(silent->added_results(), testing::Optional(testing::ElementsAre(AddedResult{"a", "", false})));
}

TEST(AddedResults, HandlersOnlyAdd) {
  const auto is_added = [](const std::string& body) {
    return are_added(
        "global unsigned long a[2]; global unsigned long b; unsigned long own;\n"
        "ON_INSTRUCTION: {" +
        body + "}");
  };
  EXPECT_TRUE(is_added("a[0]++; a[1] -= 2; ++b; atomicIncrement(&a[1]);"));
  EXPECT_TRUE(is_added("own = own * 2; if (own > 3) a[own & 1] += own * own;"));
  EXPECT_FALSE(is_added("a[0] = 1;"));
  EXPECT_FALSE(is_added("atomicMax(&a[0], 1);"));
  EXPECT_FALSE(is_added("a[0] += 1; if (a[0] > 10) b += 1;"));
  EXPECT_FALSE(is_added("own = atomicAdd(&a[0], 1); b += own;"));
  EXPECT_FALSE(is_added("b += a[0]++;"));
  EXPECT_FALSE(is_added("unsigned long *p = &a[0]; *p += 1;"));
}

TEST(AddedResults, StorageIsAddable) {
  EXPECT_FALSE(are_added("global unsigned int a; ON_KERNEL_ENTRY: a += 1;"));
  EXPECT_FALSE(are_added("global double a; ON_KERNEL_ENTRY: a += 1;"));
  EXPECT_FALSE(are_added("global unsigned long a = 1; ON_KERNEL_ENTRY: a += 1;"));
  EXPECT_FALSE(are_added("global unsigned long a[BLOCKS]; ON_KERNEL_ENTRY: a[blockId()] += 1;"));
  EXPECT_FALSE(are_added("global histogram a[8]; ON_KERNEL_ENTRY: record(&a, 1);"));
  EXPECT_FALSE(are_added("global trace unsigned long a[8]; ON_KERNEL_ENTRY: append(&a, 1);"));
  EXPECT_FALSE(are_added("global unsigned long a; ON_KERNEL_ENTRY: SAMPLE_LAUNCHES(2): a += 1;"));
  EXPECT_FALSE(
      are_added("global unsigned long a; ON_KERNEL_ENTRY: a += 1;\n"
                "host unsigned long n; ON_REPORT: { ++n; emit(\"a\", a); }"));
  EXPECT_FALSE(
      are_added("global unsigned long a; ON_KERNEL_ENTRY: a += 1;\n"
                "ON_REPORT: { fold(\"a\", \"max\"); emit(\"a\", a); }"));
}

TEST(AddedResults, FormsAreLinear) {
  EXPECT_TRUE(are_added_in_report("emit(\"x\", 3 * a[0] - a[1] + b * 2 + THREADS);"));
  EXPECT_TRUE(
      are_added_in_report("unsigned long s = 0; for (int i = 0; i < 3; ++i) s += i * a[i]; emit(\"s\", s);"));
  EXPECT_TRUE(
      are_added_in_report("unsigned long s[2]; s[instructionIs(0, BRANCH)] += b; emit(\"s\", s[1]);"));
  EXPECT_TRUE(are_added_in_report("a[0] = 0; a[1] += a[2]; emit(\"a\", a);"));
  EXPECT_FALSE(are_added_in_report("emit(\"x\", b + 1);"));
  EXPECT_FALSE(are_added_in_report("emit(\"x\", 7);"));
  EXPECT_FALSE(are_added_in_report("emit(\"x\", INSTRUCTIONS);"));
  EXPECT_FALSE(are_added_in_report("emit(\"x\", b / 2);"));
  EXPECT_FALSE(are_added_in_report("emit(\"x\", b * b);"));
  EXPECT_FALSE(are_added_in_report("emit(\"x\", b * 0.5);"));
  EXPECT_FALSE(are_added_in_report("emit(\"x\", (unsigned int)b);"));
  EXPECT_FALSE(are_added_in_report("unsigned int narrow = b; emit(\"x\", narrow);"));
  EXPECT_FALSE(are_added_in_report("emit(\"x\", max(a));"));
  EXPECT_FALSE(are_added_in_report("unsigned long s = 1; s += b; emit(\"x\", s);"));
  EXPECT_FALSE(are_added_in_report("++b; emit(\"x\", b);"));
  EXPECT_FALSE(are_added_in_report("emitRatio(\"x\", b, 3);"));
  EXPECT_FALSE(are_added_in_report("emitRatio(\"x\", b, INSTRUCTIONS);"));
  EXPECT_FALSE(are_added_in_report("emit(\"x\", launchIndex());"));
}

TEST(AddedResults, BranchesAndIndicesAreTheSame) {
  EXPECT_TRUE(are_added_in_report("if (b > 0) emit(\"x\", b);"));
  EXPECT_TRUE(are_added_in_report("if (a[1] != 0) { emit(\"x\", a[1]); }"));
  EXPECT_FALSE(are_added_in_report("if (b > 1) emit(\"x\", b);"));
  EXPECT_FALSE(are_added_in_report("if (b > 0) emit(\"x\", a[0]);"));
  EXPECT_FALSE(are_added_in_report("if (b > 0) emit(\"x\", b); else emit(\"y\", b);"));
  EXPECT_FALSE(are_added_in_report("unsigned long n = 0; if (b != 0) ++n; emit(\"x\", b * n);"));
  EXPECT_FALSE(are_added_in_report("for (unsigned long i = 0; i < b; ++i) a[0] += a[1]; emit(\"x\", a[0]);"));
  EXPECT_FALSE(are_added_in_report("emit(\"x\", a[b]);"));
  EXPECT_FALSE(are_added_in_report("emit(\"x\", b ? a[0] : a[1]);"));
  EXPECT_FALSE(are_added_in_report("for (int i = 0; i < BLOCKS; ++i) a[0] += a[1]; emit(\"x\", a[0]);"));
  EXPECT_FALSE(are_added_in_report("print(\"%lu\", b); emit(\"x\", b);"));
}

/// A name that exists already gets a number, which must not depend on which results are 0.
TEST(AddedResults, NamesAreTheSame) {
  const std::string by_opcode =
      "for (int i = 0; i < INSTRUCTIONS; ++i) s[opcodeId(i)] += a[i];"
      "for (int i = 0; i < INSTRUCTIONS; ++i) { if (s[opcodeId(i)] != 0) emit(opcode(i), s[opcodeId(i)]);";
  const auto are_added_by_opcode = [&](const std::string& rest) {
    return are_added(
        "global unsigned long a[INSTRUCTIONS]; global unsigned long b; global unsigned long "
        "s[INSTRUCTIONS];\n"
        "ON_INSTRUCTION: { atomicAdd(&a[instructionId()], 1); b += 1; }\n"
        "ON_REPORT: {" +
        by_opcode + rest + "}");
  };
  EXPECT_TRUE(are_added_by_opcode("s[opcodeId(i)] = 0; }"));
  EXPECT_TRUE(are_added_by_opcode("}"));
  EXPECT_FALSE(are_added_by_opcode("s[opcodeId(i)] += b; }"));
  EXPECT_FALSE(are_added_by_opcode("s[opcodeId(i)] = 0; } emit(opcode(0), b);"));
  EXPECT_FALSE(are_added_by_opcode("s[opcodeId(i)] = 0; } emit(\"add.s32\", b);"));
  EXPECT_TRUE(are_added_in_report("for (int i = 0; i < 3; ++i) emit(\"x\", a[i]);"));
  EXPECT_FALSE(are_added_in_report("for (int i = 0; i < 3; ++i) if (a[i] != 0) emit(\"x\", a[i]);"));
  EXPECT_FALSE(are_added_in_report("if (a[0] != 0) emit(\"x\", a[0]); if (b != 0) emit(\"x\", b);"));
  EXPECT_FALSE(are_added_in_report("emit(functionName(0), b);"));
}

/// ON_REPORT, run on the sums of n launches, emits the sums.
TEST(AddedResults, ExtentsAreThoseOfAllLaunches) {
  LaunchView launch;
  launch.grid[0] = 3;
  launch.block[0] = 40;
  launch.launches = 10;
  const ReportRun run = run_report(
      R"(ON_REPORT: { emit("blocks", BLOCKS); emit("warps", warpCount()); emit("threads", THREADS);
                      emit("x", gridDimX()); })",
      launch);
  EXPECT_EQ(run.number("blocks"), 30);
  EXPECT_EQ(run.number("warps"), 60);
  EXPECT_EQ(run.number("threads"), 1200);
  EXPECT_EQ(run.number("x"), 3);
}

}  // namespace
}  // namespace lynxpp::cod
