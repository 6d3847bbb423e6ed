#include "support/diagnostic.h"

#include <gtest/gtest.h>

#include "support/result.h"

namespace lynxpp {
namespace {

TEST(Diagnostic, ShowsLocationSourceLineCaretAndHint) {
  const Diagnostic diagnostic{
      Severity::error, {"a.cod", 2, 3, 4}, "unknown name 'coun'", "did you mean 'count'?"};
  EXPECT_EQ(render(diagnostic, "int x;\n\tcoun += 1;\n"),
            "a.cod:2:3: error: unknown name 'coun'\n"
            "  \tcoun += 1;\n"
            "  \t ^~~~\n"
            "  hint: did you mean 'count'?\n");
}

TEST(Diagnostic, WithoutLocationIsOneLine) {
  EXPECT_EQ(render(failure("no kernel").diagnostics), "error: no kernel\n");
}

TEST(Diagnostic, LineBeyondTheTextShowsNoSource) {
  const Diagnostic diagnostic{Severity::warning, {"a", 9, 1, 1}, "m", ""};
  EXPECT_EQ(render(diagnostic, "one line"), "a:9:1: warning: m\n  \n  ^\n");
}

TEST(Diagnostic, ShowsTheSurroundingsInALongLine) {
  const std::string line = std::string(5000, 'a') + "b" + std::string(5000, 'c');
  EXPECT_EQ(render({Severity::error, {"a", 1, 5001, 9000}, "m", ""}, line),
            "a:1:5001: error: m\n  " + std::string(120, 'a') + "b" + std::string(119, 'c') + "\n  " +
                std::string(120, ' ') + "^" + std::string(239, '~') + "\n");
  EXPECT_EQ(render({Severity::error, {"a", 1, 2, 1}, "m", ""}, line),
            "a:1:2: error: m\n  " + std::string(240, 'a') + "\n   ^\n");
  EXPECT_EQ(render({Severity::error, {"a", 1, 10001, 1}, "m", ""}, line),
            "a:1:10001: error: m\n  " + std::string(240, 'c') + "\n  " + std::string(239, ' ') + "^\n");
}

TEST(ClosestMatch, FindsAMisspellingButNoUnrelatedWord) {
  const std::vector<std::string> names{"instruction_count", "kernel_runtime"};
  EXPECT_EQ(closest_match("instruction_cuont", names), "instruction_count");
  EXPECT_EQ(closest_match("banana", names), "");
  EXPECT_EQ(closest_match("itn", {"float", "int"}), "int");
  EXPECT_EQ(closest_match("int", {"float", "bit"}), "");
}

TEST(Result, CarriesValueOrDiagnostics) {
  const Result<int> good = 3;
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(*good, 3);
  const Result<int> bad = failure("why", "because");
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().diagnostics[0].hint, "because");
}

}  // namespace
}  // namespace lynxpp
