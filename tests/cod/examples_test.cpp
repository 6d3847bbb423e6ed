// Every specification in examples/specs compiles, is accepted by ptxas for an old and a new target, and has a
// report.
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>

#include "support/text.h"
#include "tests/cod/test_support.h"

namespace lynxpp::cod {
namespace {

std::vector<std::string> example_paths() {
  std::vector<std::string> paths;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(std::string(LYNXPP_SOURCE_DIR) + "/examples/specs")) {
    if (entry.path().extension() == ".cod") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

class Example : public testing::TestWithParam<std::string> {};

TEST_P(Example, CompilesAndHasASummary) {
  std::string source;
  ASSERT_TRUE(read_file(GetParam(), source));
  const SpecificationPtr specification = compiled(source);
  ASSERT_NE(specification, nullptr);
  EXPECT_GT(specification->summary().size(), 10u);
  EXPECT_FALSE(specification->handlers().empty());
  EXPECT_TRUE(specification->compile_host().ok());
}

TEST_P(Example, IsAcceptedByPtxas) {
  if (!has_ptxas()) GTEST_SKIP() << "no ptxas on this machine";
  std::string source;
  ASSERT_TRUE(read_file(GetParam(), source));
  const SpecificationPtr specification = compiled(source);
  ASSERT_NE(specification, nullptr);
  for (const int sm : {75, 90}) {
    for (const std::string& routine : lowered(*specification, sm)) {
      EXPECT_EQ(ptxas_errors(wrapped(routine, sm), sm), "");
    }
  }
}

/// Returns the lines of the routine that end the program's thread.
std::string endings_of(const std::string& routine) {
  static const std::regex ending(R"((^|[^.\w$])(exit|trap)\s*;)");
  std::string found;
  for (const std::string& line : split(routine, '\n')) {
    if (std::regex_search(line, ending)) found += line + '\n';
  }
  return found;
}

/// A handler must not end the thread even where it is unreachable: the program's branches around it would
/// reconverge later.
TEST_P(Example, NeverEndsTheProgramsThread) {
  std::string source;
  ASSERT_TRUE(read_file(GetParam(), source));
  const SpecificationPtr specification = compiled(source);
  ASSERT_NE(specification, nullptr);
  const DeviceTarget targets[] = {{75},
                                  {90},
                                  {90, true},
                                  {90, false, true},
                                  {90, false, false, true},
                                  {90, false, false, false, {}, true}};
  for (const DeviceTarget& target : targets) {
    const auto code = specification->lower_device(target);
    ASSERT_TRUE(code.ok());
    for (const HandlerCode& handler : code->handlers) EXPECT_EQ(endings_of(handler.ptx), "") << handler.ptx;
  }
}

TEST(Endings, AreFoundInPtx) {
  EXPECT_EQ(endings_of("\tadd.u32 %r1, %r1, 1;\n\texit;\n\tret;"), "\texit;\n");
  EXPECT_EQ(endings_of("@%p1 trap;"), "@%p1 trap;\n");
  EXPECT_EQ(endings_of("\tbra $L_exit;\n\t// begin inline asm exit\n\texit_count;"), "");
}

/// All values of the enumeration have a case, so the default is unreachable.
TEST(Endings, SwitchOverEveryValueHasNone) {
  const SpecificationPtr specification = compiled(
      "global unsigned long a[8];\n"
      "static int f(int x) { switch (x & 3) { case 0: return 5; case 1: return 7; case 2: return 1; case 3: "
      "return 6; } }\n"
      "ON_INSTRUCTION: MEM_READ: { switch (laneId() & 3) { case 0: a[0] = 1; break; case 1: a[3] = 2; break; "
      "case 2: a[1] = f(accessSize()); break; case 3: a[7] = 9; break; } a[f(memoryAddress())] = 3; }");
  ASSERT_NE(specification, nullptr);
  for (const std::string& routine : lowered(*specification, 90))
    EXPECT_EQ(endings_of(routine), "") << routine;
}

std::string name_of_example(const testing::TestParamInfo<std::string>& info) {
  return std::filesystem::path(info.param).stem().string();
}

INSTANTIATE_TEST_SUITE_P(All, Example, testing::ValuesIn(example_paths()), name_of_example);

}  // namespace
}  // namespace lynxpp::cod
