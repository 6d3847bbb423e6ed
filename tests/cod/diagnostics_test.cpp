// The exact text of what a user sees.
#include <gtest/gtest.h>

#include "tests/cod/test_support.h"

namespace lynxpp::cod {
namespace {

TEST(Diagnostics, UnknownNameWithSuggestion) {
  EXPECT_EQ(errors_of("unsigned long counter;\nON_BASIC_BLOCK_EXIT: { counetr += 1; }\n"),
            "t.cod:2:24: error: unknown name 'counetr'\n"
            "  ON_BASIC_BLOCK_EXIT: { counetr += 1; }\n"
            "                         ^~~~~~~\n"
            "  hint: did you mean 'counter'?\n");
}

TEST(Diagnostics, UnknownFunctionWithSuggestion) {
  EXPECT_EQ(errors_of("ON_KERNEL_EXIT: { int x = blockID(); }"),
            "t.cod:1:27: error: unknown function 'blockID()'\n"
            "  ON_KERNEL_EXIT: { int x = blockID(); }\n"
            "                            ^~~~~~~\n"
            "  hint: did you mean 'blockId'?\n");
}

TEST(Diagnostics, UnknownLabelWithSuggestion) {
  EXPECT_EQ(errors_of("ON_BASICBLOCK_EXIT: { memoryAddress(); }"),
            "t.cod:1:1: error: unknown label 'ON_BASICBLOCK_EXIT'\n"
            "  ON_BASICBLOCK_EXIT: { memoryAddress(); }\n"
            "  ^~~~~~~~~~~~~~~~~~\n"
            "  hint: did you mean 'ON_BASIC_BLOCK_EXIT'?\n");
}

TEST(Diagnostics, MissingSemicolon) {
  EXPECT_EQ(errors_of("ON_KERNEL_ENTRY: {\n  break\n}\n"),
            "t.cod:3:1: error: unexpected '}'\n"
            "  }\n"
            "  ^\n"
            "  hint: expected ';'\n");
}

TEST(Diagnostics, ReservedWords) {
  EXPECT_EQ(errors_of("ON_KERNEL_ENTRY: { goto end; }"),
            "t.cod:1:20: error: 'goto' is not part of the language\n"
            "  ON_KERNEL_ENTRY: { goto end; }\n"
            "                     ^~~~\n"
            "  hint: use loops, if, break and return\n");
}

TEST(Diagnostics, AnUnfinishedFile) {
  EXPECT_EQ(errors_of("ON_KERNEL_ENTRY: { return; "),
            "t.cod:1:28: error: unexpected the end of the file\n"
            "  ON_KERNEL_ENTRY: { return; \n"
            "                             ^\n");
}

TEST(Diagnostics, SeveralErrorsInOneRun) {
  EXPECT_EQ(errors_of("ON_KERNEL_ENTRY: { a = 1; }\nON_KERNEL_EXIT: { b = 2; memoryAddress(); }\n"),
            "t.cod:1:20: error: unknown name 'a'\n"
            "  ON_KERNEL_ENTRY: { a = 1; }\n"
            "                     ^\n"
            "t.cod:2:19: error: unknown name 'b'\n"
            "  ON_KERNEL_EXIT: { b = 2; memoryAddress(); }\n"
            "                    ^\n"
            "t.cod:2:26: error: memoryAddress() has no meaning in ON_KERNEL_EXIT\n"
            "  ON_KERNEL_EXIT: { b = 2; memoryAddress(); }\n"
            "                           ^~~~~~~~~~~~~~~\n"
            "  hint: use it in ON_INSTRUCTION\n");
}

TEST(Diagnostics, SyncThreadsAtExitDeadlocks) {
  EXPECT_EQ(errors_of("ON_KERNEL_EXIT: { syncThreads(); }"),
            "t.cod:1:19: error: syncThreads() deadlocks in ON_KERNEL_EXIT when some threads return early and "
            "others still meet the "
            "program's own barriers\n"
            "  ON_KERNEL_EXIT: { syncThreads(); }\n"
            "                    ^~~~~~~~~~~~~\n"
            "  hint: combine per-warp values with atomicMin() and atomicMax(); no barrier is needed\n");
}

TEST(Diagnostics, AVoteUnderAnElection) {
  EXPECT_EQ(
      errors_of(
          "int n;\nON_INSTRUCTION: {\n  if (leastActiveThreadInWarp()) n += divergentWarp(laneId() < 4);\n}"),
      "t.cod:3:39: error: divergentWarp() under leastActiveThreadInWarp() would see one lane\n"
      "    if (leastActiveThreadInWarp()) n += divergentWarp(laneId() < 4);\n"
      "                                        ^~~~~~~~~~~~~~~~~~~~~~~~~~~\n"
      "  hint: take the vote before the 'if' and keep it in a variable\n");
}

TEST(Diagnostics, UntypedBuffersOfLynx) {
  EXPECT_EQ(errors_of("ON_KERNEL_EXIT: { globalMem[0] = 1; }"),
            "t.cod:1:19: error: there is no untyped 'globalMem'\n"
            "  ON_KERNEL_EXIT: { globalMem[0] = 1; }\n"
            "                    ^~~~~~~~~\n"
            "  hint: declare the array you need: 'global unsigned long counts[THREADS];'\n");
}

TEST(Diagnostics, AnEmptySpecification) {
  EXPECT_EQ(errors_of("// nothing\n"),
            "t.cod: error: the specification does nothing\n"
            "  hint: write a handler, for example 'ON_BASIC_BLOCK_EXIT: { ... }'\n");
}

TEST(Diagnostics, WarningsOfASuccessfulCompilation) {
  Diagnostics warnings;
  const std::string source = "int x;\nON_KERNEL_EXIT: { x == 1; }";
  ASSERT_TRUE(compile(source, "t.cod", &warnings).ok());
  EXPECT_EQ(render(warnings, source),
            "t.cod:2:19: warning: nobody uses this value\n"
            "  ON_KERNEL_EXIT: { x == 1; }\n"
            "                    ^~~~~~\n"
            "  hint: assign it, or leave it out\n");
}

struct Refused {
  const char* source;
  const char* message;
};

class RefusedSpecification : public testing::TestWithParam<Refused> {};

TEST_P(RefusedSpecification, SaysWhy) {
  const auto result = compile(GetParam().source, "t.cod");
  ASSERT_FALSE(result.ok()) << GetParam().source;
  EXPECT_EQ(result.error().diagnostics[0].message, GetParam().message) << GetParam().source;
  EXPECT_GT(result.error().diagnostics[0].location.line, 0u);
}

const Refused refused[] = {
    {"int x; int x; x = 1;", "'x' is declared twice"},
    {"void x; x = 1;", "a variable cannot have type void"},
    {"global int a[0]; a[0] = 1;", "an array needs at least one element"},
    {"global int a[-1]; a[0] = 1;", "an array needs at least one element"},
    {"global int a[2.5]; a[0] = 1;",
     "the extent of a 'global' array is a named extent or a constant integer"},
    {"global int a[blockDim()]; a[0] = 1;",
     "the extent of a 'global' array is a named extent or a constant integer"},
    {"global int a[THREAD]; a[0] = 1;", "unknown name 'THREAD'"},
    {"global int a[4]; a = 1;", "'a' is an array"},
    {"global int a[4]; a[0][1] = 1;", "'a' has 1 dimensions, not 2"},
    {"global int a[4]; a[1.0] = 1;", "an index needs integers, and this is a double"},
    {"int x; x[0] = 1;", "only 'global' arrays have elements"},
    {"b[0] = 1;", "unknown array 'b'"},
    {"THREADS = 1;", "an extent cannot be assigned"},
    {"1 = 2;", "this cannot be assigned"},
    {"const int c = 1; c = 2;", "'c' is const"},
    {"const int c; int x = c;", "the constant 'c' has no value"},
    {"const int c = laneId(); int x = c;", "a 'const' at file scope needs a value known at compile time"},
    {"int x = 1.5 % 2;", "this operator needs integers, and this is a double"},
    {"double d; d <<= 1;", "this operator needs integers, and this is a double"},
    {"int x = ~1.0;", "'~' needs integers, and this is a double"},
    {"bool b; b++;", "a bool cannot be stepped"},
    {"int x = &x;", "an address has no value"},
    {"int x = syncWarp();", "this has no value"},
    {"int x = \"text\";", "a string has no value here"},
    {"int x = laneId;", "'laneId' is a function"},
    {"int x = laneId(1);", "laneId() takes 0 arguments, not 1"},
    {"int x; x = x();", "'x' is a variable, not a function"},
    {"break;", "'break' stands outside a loop"},
    {"continue;", "'continue' stands outside a loop"},
    {"return 1;", "a handler returns no value"},
    {"int f() { return; } int x = f();", "this function returns a value of type int"},
    {"void f() { return 1; } f();", "this function returns no value"},
    {"int f(int a) { return f(a); } int x = f(1);", "'f' calls itself"},
    {"int f(int a) { return 1; } int x = f();", "'f()' takes 1 argument, not 0"},
    {"int laneId() { return 1; } int x;", "'laneId' is a function of the language"},
    {"int f() { return accessSize(); } ON_KERNEL_EXIT: { int y = f(); }",
     "'f()' uses accessSize(), which has no meaning in ON_KERNEL_EXIT"},
    {"int s; int f() { return s; } ON_REPORT: { emit(\"x\", f()); }",
     "'f()' uses 's', which belongs to the threads of the kernel and is gone in ON_REPORT"},
    {"int s; ON_REPORT: { emit(\"x\", s); }",
     "'s' belongs to the threads of the kernel and is gone in ON_REPORT"},
    {"ON_REPORT: { emit(\"x\", laneId()); }", "laneId() has no meaning in ON_REPORT"},
    {"ON_KERNEL_EXIT: { emit(\"x\", 1); }", "emit() has no meaning in ON_KERNEL_EXIT"},
    {"ON_REPORT: { emit(1, 1); }", "the name of a result must be a string that is not empty"},
    {"ON_REPORT: { print(\"%d\", 1.5); }", "'%d' does not fit a value of type double"},
    {"ON_REPORT: { print(\"%f\", 1); }", "'%f' does not fit a value of type int"},
    {"ON_REPORT: { print(\"%s\", 1); }", "'%s' is no conversion that print() knows"},
    {"ON_REPORT: { print(\"%d %d\", 1); }", "this format takes 2 values, not 1"},
    {"ON_REPORT: { emit(\"x\", sum(1)); }", "sum() needs a 'global' array"},
    {"global int a[4]; atomicAdd(a[0], 1);", "an atomic function needs the address of an element"},
    {"int x; atomicAdd(&x, 1);", "only elements of 'global' arrays can be changed atomically"},
    {"global short a[4]; atomicAdd(&a[0], 1);",
     "atomicAdd() needs elements of 32 or 64 bits, and 'a' has short"},
    {"global float a[4]; atomicMax(&a[0], 1);", "atomicMax() needs integers, and 'a' has float"},
    {"ON_BASIC_BLOCK_ENTRY: { int x = basicBlockExecutedInstructionCount(); }",
     "basicBlockExecutedInstructionCount() has no meaning in ON_BASIC_BLOCK_ENTRY"},
    {"ON_KERNEL_ENTRY: { int x = basicBlockId(); }", "basicBlockId() has no meaning in ON_KERNEL_ENTRY"},
    {"ON_KERNEL_ENTRY: { if (laneId()) syncThreads(); }",
     "syncThreads() is safe only where all threads of the block come by"},
    {"ON_KERNEL_ENTRY: ON_KERNEL_EXIT: { int x; }", "a handler has one target"},
    {"ON_KERNEL_ENTRY: MEM_READ: { int x; }", "the filter MEM_READ needs the target ON_INSTRUCTION"},
    {"ON_INSTRUCTION: MEM_RAED: { int x; }", "unknown label 'MEM_RAED'"},
    {"int x = uniqueElementCount(1);", "uniqueElementCount() is not available in this version"},
    {"int x = 99999999999999999999;", "this number does not fit 64 bits"},
    {"int x = 08;", "this is no number of base 8"},
    {"int x = 1lul;", "'lul' is no suffix of an integer"},
    {"double x = 1e999;", "this number does not fit a double"},
    {"unsigned float x;", "this is no type"},
    {"int LANES; LANES = 1;", "'LANES' is the name of an extent"},
    {"int x[4];", "unexpected '['"},
    {"print(\"open);", "this string has no end"},
    {"struct point { int x; };", "'struct' is not part of the language"},
};

INSTANTIATE_TEST_SUITE_P(Each, RefusedSpecification, testing::ValuesIn(refused));

}  // namespace
}  // namespace lynxpp::cod
