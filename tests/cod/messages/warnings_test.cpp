// The exact text of warnings and of errors about unmatched braces, and the limit for reports that do not
// terminate.
#include <gtest/gtest.h>

#include "tests/cod/test_support.h"

namespace lynxpp::cod {
namespace {

std::string warnings_of(const std::string& source) {
  Diagnostics warnings;
  const auto compiled = compile(source, "t.cod", &warnings);
  return compiled ? render(warnings, source) : render(compiled.error().diagnostics, source);
}

TEST(Warnings, ReportDivisionByZero) {
  EXPECT_EQ(
      warnings_of(
          "global int n;\nconst int none = 2 - 2;\nON_KERNEL_EXIT: { n = 5 / none; n %= 0; n = 5 / 2; }"),
      "t.cod:3:27: warning: division by zero yields 0\n"
      "  ON_KERNEL_EXIT: { n = 5 / none; n %= 0; n = 5 / 2; }\n"
      "                            ^~~~\n"
      "t.cod:3:38: warning: division by zero yields 0\n"
      "  ON_KERNEL_EXIT: { n = 5 / none; n %= 0; n = 5 / 2; }\n"
      "                                       ^\n");
  EXPECT_EQ(warnings_of("global float x;\nON_KERNEL_EXIT: { x = 1 / 0.0; }"), "");
}

TEST(Warnings, ReportAnIndexOutOfBounds) {
  EXPECT_EQ(warnings_of("global int n[4][LANES];\nON_KERNEL_EXIT: { n[3][31] = 1; n[4][32] = 1; int x = "
                        "n[0][-1]; x = x; }"),
            "t.cod:2:35: warning: index 4 is out of range for 'n', whose extent is 4\n"
            "  ON_KERNEL_EXIT: { n[3][31] = 1; n[4][32] = 1; int x = n[0][-1]; x = x; }\n"
            "                                    ^\n"
            "  hint: the access is skipped; indices start at 0\n"
            "t.cod:2:38: warning: index 32 is out of range for 'n', whose extent is 32\n"
            "  ON_KERNEL_EXIT: { n[3][31] = 1; n[4][32] = 1; int x = n[0][-1]; x = x; }\n"
            "                                       ^~\n"
            "  hint: the access is skipped; indices start at 0\n"
            "t.cod:2:60: warning: index -1 is out of range for 'n', whose extent is 32\n"
            "  ON_KERNEL_EXIT: { n[3][31] = 1; n[4][32] = 1; int x = n[0][-1]; x = x; }\n"
            "                                                             ^~\n"
            "  hint: the access is skipped; indices start at 0\n");
  EXPECT_EQ(warnings_of("global map int uses[4] by int;\nglobal int n[THREADS];\nON_KERNEL_EXIT: { uses[900] "
                        "+= 1; n[900] = 1; }"),
            "");
}

TEST(Warnings, ReportASharedArrayThatIsNeverSet) {
  EXPECT_EQ(
      warnings_of("shared int seen[32];\nglobal int n;\nON_KERNEL_EXIT: { seen[0] += 1; n = seen[0]; }"),
      "t.cod:1:12: warning: 'seen' is never set, and the initial contents of a 'shared' array are undefined\n"
      "  shared int seen[32];\n"
      "             ^~~~\n"
      "  hint: assign its elements in ON_KERNEL_ENTRY and call 'syncThreads();' there\n");
  EXPECT_EQ(warnings_of("shared int seen[32];\nglobal int n;\nON_KERNEL_ENTRY: { seen[laneId()] = 0; }\n"
                        "ON_KERNEL_EXIT: { seen[0] += 1; n = seen[0]; }"),
            "");
  EXPECT_EQ(warnings_of("shared int seen[32];\nglobal int n;\nstatic void clear(int *p) { *p = 0; }\n"
                        "ON_KERNEL_ENTRY: { clear(&seen[laneId()]); }\nON_KERNEL_EXIT: { n = seen[0]; }"),
            "");
}

TEST(Warnings, ReportAnInfiniteLoop) {
  EXPECT_EQ(warnings_of("global int n;\nON_KERNEL_EXIT: { while (1) { for (;;) break; n++; } }"),
            "t.cod:2:19: warning: this loop is infinite\n"
            "  ON_KERNEL_EXIT: { while (1) { for (;;) break; n++; } }\n"
            "                    ^~~~~\n"
            "  hint: add a condition, or a 'break' or 'return'\n");
  EXPECT_EQ(warnings_of("global int n;\nON_KERNEL_EXIT: { for (;;) { n++; if (n > 3) return; } }"), "");
  EXPECT_EQ(warnings_of("global int n;\nON_KERNEL_EXIT: { do { n++; if (n > 3) break; } while (true); }"),
            "");
}

TEST(Reports, ThatDoNotTerminateAreStopped) {
  LaunchView launch;
  const ReportRun run = run_report(
      "ON_REPORT: {\n  emit(\"before\", 1);\n  for (unsigned int i = 0; i < 10; ++i) i = i & 7;\n  "
      "emit(\"after\", 2);\n}",
      launch);
  EXPECT_EQ(run.number("before"), 1);
  EXPECT_EQ(run.find("after"), nullptr);
  EXPECT_NE(
      run.failure.find(
          "t.cod:3:3: error: this loop does not terminate; the report was stopped after 2^30 iterations"),
      std::string::npos)
      << run.failure;
}

TEST(Braces, ThatAreNotClosedAreReported) {
  EXPECT_EQ(errors_of("ON_KERNEL_ENTRY: {\n  if (laneId() == 0) {\n    syncWarp();\n}\n\nON_KERNEL_EXIT: {\n "
                      " syncWarp();\n}\n"),
            "t.cod:2:22: error: this '{' is never closed\n"
            "    if (laneId() == 0) {\n"
            "                       ^\n"
            "  hint: ON_KERNEL_EXIT on line 6 is inside it\n");
  EXPECT_EQ(errors_of("ON_KERNEL_ENTRY: {\n  syncWarp();\n"),
            "t.cod:1:18: error: this '{' is never closed\n"
            "  ON_KERNEL_ENTRY: {\n"
            "                   ^\n");
}

}  // namespace
}  // namespace lynxpp::cod
