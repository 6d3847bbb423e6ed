// Errors in initial values and in fold().
#include <gtest/gtest.h>

#include "tests/cod/test_support.h"

namespace lynxpp::cod {
namespace {

TEST(InitialValues, MustBeCompileTimeConstants) {
  EXPECT_EQ(errors_of("host int n;\nglobal int a[2] = {1, n};\nON_KERNEL_EXIT: { a[0] = 1; }"),
            "t.cod:2:23: error: 'n' is a 'host' variable\n"
            "  global int a[2] = {1, n};\n"
            "                        ^\n"
            "  hint: use it only in ON_REPORT and ON_END\n");
  EXPECT_EQ(errors_of("unsigned int n = 2;\nglobal unsigned int a = laneId();\nON_KERNEL_EXIT: { a = n; }"),
            "t.cod:2:25: error: the initialisers of a 'global' array must be compile-time constants\n"
            "  global unsigned int a = laneId();\n"
            "                          ^~~~~~~~\n");
}

TEST(InitialValues, MustFitTheArray) {
  EXPECT_EQ(errors_of("global int a[2] = {1, 2, 3};\nON_KERNEL_EXIT: { a[0] = 1; }"),
            "t.cod:1:26: error: 'a' has more initialisers than elements\n"
            "  global int a[2] = {1, 2, 3};\n"
            "                           ^\n");
  EXPECT_EQ(errors_of("global int a[BLOCKS] = {1};\nON_KERNEL_EXIT: { a[0] = 1; }"),
            "t.cod:1:24: error: a list in braces needs an array with constant extents\n"
            "  global int a[BLOCKS] = {1};\n"
            "                         ^~~\n"
            "  hint: one value without braces initialises every element\n");
  EXPECT_EQ(errors_of("global int a[];\nON_KERNEL_EXIT: { a[0] = 1; }"),
            "t.cod:1:12: error: the array 'a' needs an extent\n"
            "  global int a[];\n"
            "             ^\n"
            "  hint: write 'a[8]', or initial values in braces\n");
  EXPECT_EQ(
      errors_of("struct pair { int a; int b; };\nglobal struct pair p = 5;\nON_KERNEL_EXIT: { p.a = 1; }"),
      "t.cod:2:24: error: this value cannot initialise 'p'\n"
      "  global struct pair p = 5;\n"
      "                         ^\n"
      "  hint: write a list in braces\n");
}

TEST(InitialValues, AreOnlyForArraysInDeviceMemory) {
  EXPECT_EQ(errors_of("shared int a[2] = {1, 2};\nON_KERNEL_EXIT: { a[0] = 1; }"),
            "t.cod:1:19: error: a 'shared' array cannot have an initialiser\n"
            "  shared int a[2] = {1, 2};\n"
            "                    ^~~~~~\n"
            "  hint: assign its elements in ON_KERNEL_ENTRY and call 'syncThreads();' there\n");
  EXPECT_EQ(errors_of("global histogram a[2] = {1, 2};\nON_KERNEL_EXIT: record(&a, 1);"),
            "t.cod:1:25: error: a histogram starts empty and cannot have an initialiser\n"
            "  global histogram a[2] = {1, 2};\n"
            "                          ^~~~~~\n"
            "  hint: to define its bins, write 'linear(0, 100)' or 'log2(1)'\n");
  EXPECT_EQ(
      errors_of("global unsigned int a[DEVICE_WORDS] = 1;\nON_KERNEL_EXIT: { a[0] = 1; }"),
      "t.cod:1:39: error: an array with the extent SHARED_WORDS or DEVICE_WORDS cannot have an initialiser\n"
      "  global unsigned int a[DEVICE_WORDS] = 1;\n"
      "                                        ^\n");
}

TEST(Folds, NeedAResultAndAKnownFunction) {
  const std::string file =
      "global unsigned long n[BLOCKS];\nglobal trace int seen[8];\nON_KERNEL_EXIT: { n[0] = 1; "
      "append(&seen, 1); }\n";
  const auto report = [&](const std::string& fold) {
    return errors_of(file +
                     "ON_REPORT: { emit(\"n\", sum(n)); emit(\"seen\", seen); emitTable(\"t\", \"n\", n); " +
                     fold + " }");
  };
  EXPECT_EQ(report("fold(\"n\", \"max\"); fold(\"seen\", \"first\"); fold(\"t.n\", \"key\");"), "");
  EXPECT_EQ(
      report("fold(\"m\", \"max\");"),
      "t.cod:4:82: error: no result named 'm' is emitted\n"
      "  ON_REPORT: { emit(\"n\", sum(n)); emit(\"seen\", seen); emitTable(\"t\", \"n\", n); fold(\"m\", "
      "\"max\"); }\n"
      "                                                                                   ^~~\n"
      "  hint: did you mean 'n'?\n");
  EXPECT_EQ(report("fold(\"n\", \"mox\");").substr(0, 76),
            "t.cod:4:87: error: this is not a way to combine results of several launches\n");
  EXPECT_NE(report("fold(\"n\", \"concatenate\");").find("only tables have rows to concatenate"),
            std::string::npos);
  EXPECT_NE(report("fold(\"n\", \"key\");").find("only a column of a table can be a key"), std::string::npos);
  EXPECT_NE(
      report("fold(\"n\", \"max\"); fold(\"n\", \"min\");").find("is already folded in a different way"),
      std::string::npos);
}

}  // namespace
}  // namespace lynxpp::cod
