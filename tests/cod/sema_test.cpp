// Properties of a specification after analysis.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/cod/test_support.h"

namespace lynxpp::cod {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Specification, HasANameAndASummary) {
  const auto result = compile("\n// Counts things \nint x; x = 1;", "folder/thing.cod");
  ASSERT_TRUE(result.ok());
  EXPECT_EQ((*result)->name(), "thing");
  EXPECT_EQ((*result)->summary(), "Counts things");
  const auto without = compile("int x; x = 1; // later", "plain");
  ASSERT_TRUE(without.ok());
  EXPECT_EQ((*without)->name(), "plain");
  EXPECT_EQ((*without)->summary(), "");
}

TEST(Specification, HandlersAreInOrderAfterTheInitialiser) {
  const auto specification = compiled(
      "unsigned long n = 1; float ratio;\n"
      "ON_BASIC_BLOCK_EXIT: n += basicBlockExecutedInstructionCount();\n"
      "ratio = 2;\nratio += 1;\n"
      "ON_INSTRUCTION: MEM_READ: MEM_WRITE: GLOBAL: { if (leastActiveThreadInWarp()) n += accessSize(); }\n"
      "ON_REPORT: { emit(\"threads\", THREADS); }");
  ASSERT_NE(specification, nullptr);
  const auto& handlers = specification->handlers();
  ASSERT_EQ(handlers.size(), 4u);
  EXPECT_TRUE(handlers[0].is_initializer);
  EXPECT_EQ(handlers[0].target, TargetKind::kernel_entry);
  EXPECT_EQ(handlers[1].target, TargetKind::basic_block_exit);
  EXPECT_THAT(handlers[1].site_values, ElementsAre(SiteValue::basic_block_executed_instruction_count));
  EXPECT_TRUE(handlers[1].uses_state);
  EXPECT_FALSE(handlers[1].needs_convergence);
  EXPECT_EQ(handlers[1].location.line, 2u);
  EXPECT_EQ(handlers[2].target, TargetKind::kernel_entry) << "statements without a target, merged";
  EXPECT_FALSE(handlers[2].is_initializer);
  EXPECT_EQ(handlers[3].target, TargetKind::instruction);
  EXPECT_EQ(handlers[3].filter.classes, mem_read | mem_write);
  EXPECT_EQ(handlers[3].filter.spaces, space_global);
  EXPECT_TRUE(handlers[3].needs_convergence);
  ASSERT_EQ(specification->state().size(), 2u);
  EXPECT_EQ(specification->state()[0].type, ScalarType::u64);
  EXPECT_EQ(specification->state()[1].type, ScalarType::f32);
}

TEST(Specification, UsesOfHelpersBelongToTheHandler) {
  const auto specification = compiled(
      "int state;\nint inner() { state += 1; return accessSize(); }\nint outer() { return inner() + "
      "instructionId(); }\n"
      "ON_INSTRUCTION: { int x = outer(); }\nON_KERNEL_EXIT: { int y = 1; }");
  ASSERT_NE(specification, nullptr);
  EXPECT_THAT(specification->handlers()[0].site_values,
              ElementsAre(SiteValue::instruction_id, SiteValue::access_size));
  EXPECT_TRUE(specification->handlers()[0].uses_state);
  EXPECT_THAT(specification->handlers()[1].site_values, IsEmpty());
  EXPECT_FALSE(specification->handlers()[1].uses_state);
}

TEST(Specification, ListsArraysAndParameterSlots) {
  const auto specification = compiled("global unsigned long a[BASIC_BLOCKS][1 << 3]; global float b; b = 1;");
  ASSERT_NE(specification, nullptr);
  const auto& arrays = specification->arrays();
  ASSERT_EQ(arrays.size(), 2u);
  ASSERT_EQ(arrays[0].dimensions.size(), 2u);
  EXPECT_EQ(arrays[0].dimensions[0].extent, Extent::basic_blocks);
  EXPECT_EQ(arrays[0].dimensions[0].name, "BASIC_BLOCKS");
  EXPECT_EQ(arrays[0].dimensions[1].constant, 8u);
  EXPECT_TRUE(arrays[1].dimensions.empty());
  const auto& words = specification->words();
  ASSERT_EQ(words.size(), 4u);
  EXPECT_EQ(words[1].kind, Word::Kind::array_address);
  EXPECT_EQ(words[1].index, 1u);
  EXPECT_EQ(words[2].kind, Word::Kind::extent);
  EXPECT_EQ(words[2].extent, Extent::basic_blocks);
  EXPECT_EQ(words[3].kind, Word::Kind::dropped);
}

TEST(Specification, OnlyExtentsInDeviceCodeNeedParameterSlots) {
  const auto specification =
      compiled("unsigned long n = THREADS + LANES; ON_REPORT: { emit(\"blocks\", BLOCKS); }");
  ASSERT_NE(specification, nullptr);
  ASSERT_EQ(specification->words().size(), 1u);
  EXPECT_EQ(specification->words()[0].extent, Extent::threads);
}

TEST(Specification, CompilesInSeveralThreadsAtOnce) {
  const std::string source =
      "unsigned long n; global unsigned long a[SMS];\nON_BASIC_BLOCK_EXIT: { n += "
      "basicBlockExecutedInstructionCount(); }\n"
      "ON_KERNEL_EXIT: { atomicAdd(&a[smId()], n); }\nON_REPORT: { emit(\"n\", sum(a)); }";
  const auto lower = [&] {
    std::string text;
    const auto result = compile(source, "t.cod");
    if (!result) return text;
    const auto code = (*result)->lower_device({80});
    if (code) {
      for (const HandlerCode& handler : code->handlers) text += handler.ptx;
    }
    return (*result)->compile_host().ok() ? text : std::string();
  };
  const std::string expected = lower();
  EXPECT_FALSE(expected.empty());
  std::vector<std::string> results(6);
  std::vector<std::thread> threads;
  for (std::string& result : results) threads.emplace_back([&] { result = lower(); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(results, testing::Each(expected));
}

TEST(Specification, VariablesMayBeNamedLikeFunctions) {
  EXPECT_EQ(errors_of("unsigned long warpId = (blockDim() * blockIdx() + blockThreadId()) >> 5;\n"
                      "ON_KERNEL_EXIT: { unsigned long w = warpId + warpId(); }"),
            "");
}

TEST(Specification, DivergentWarpWithoutAConditionTakesTheGuard) {
  const auto specification = compiled("int n; ON_INSTRUCTION: BRANCH: { n += divergentWarp(); }");
  ASSERT_NE(specification, nullptr);
  EXPECT_THAT(specification->handlers()[0].site_values, ElementsAre(SiteValue::predicate_value));
}

TEST(Specification, ExpansionOfHelpersIsLimited) {
  std::string source = "int f0(int a) { return a + a * a; }\n";
  for (int i = 1; i < 30; ++i) {
    const std::string callee = "f" + std::to_string(i - 1) + "(a)";
    source += "int f" + std::to_string(i) + "(int a) { return " + callee + " + " + callee + "; }\n";
  }
  const auto result = compile(source + "int x = f29(1);", "t.cod");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().diagnostics[0].message, "this handler is too large after its helpers are inlined");
}

TEST(Specification, ChainsOfHelpersAreLimited) {
  std::string source = "int f0(int a) { return a; }\n";
  for (int i = 1; i < 200; ++i)
    source += "int f" + std::to_string(i) + "(int a) { return f" + std::to_string(i - 1) + "(a); }\n";
  const auto result = compile(source + "int x = f199(1);", "t.cod");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().diagnostics[0].message, "calls of helper functions are nested too deeply here");
}

TEST(Specification, MutualRecursionUnderConditionsIsDetected) {
  EXPECT_THAT(errors_of("int g(int a) { if (a) return h(a); return 0; }\nint h(int a) { if "
                        "(leastActiveThreadInWarp()) return g(a); return 1; }\n"
                        "ON_KERNEL_EXIT: { if (laneId()) int x = g(1); }"),
              testing::HasSubstr("is recursive"));
}

}  // namespace
}  // namespace lynxpp::cod
