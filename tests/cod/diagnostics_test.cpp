// The exact text of diagnostics.
#include <gtest/gtest.h>

#include "tests/cod/test_support.h"
#include "tests/support/readable_name.h"

namespace lynxpp::cod {
namespace {

TEST(Diagnostics, UnknownNameHasASuggestion) {
  EXPECT_EQ(errors_of("unsigned long counter;\nON_BASIC_BLOCK_EXIT: { counetr += 1; }\n"),
            "t.cod:2:24: error: unknown name 'counetr'\n"
            "  ON_BASIC_BLOCK_EXIT: { counetr += 1; }\n"
            "                         ^~~~~~~\n"
            "  hint: did you mean 'counter'?\n");
}

TEST(Diagnostics, UnknownFunctionHasASuggestion) {
  EXPECT_EQ(errors_of("ON_KERNEL_EXIT: { int x = blockID(); }"),
            "t.cod:1:27: error: unknown function 'blockID()'\n"
            "  ON_KERNEL_EXIT: { int x = blockID(); }\n"
            "                            ^~~~~~~\n"
            "  hint: did you mean 'blockId'?\n");
}

TEST(Diagnostics, UnknownLabelHasASuggestion) {
  EXPECT_EQ(errors_of("ON_BASICBLOCK_EXIT: { memoryAddress(); }"),
            "t.cod:1:1: error: unknown label 'ON_BASICBLOCK_EXIT'\n"
            "  ON_BASICBLOCK_EXIT: { memoryAddress(); }\n"
            "  ^~~~~~~~~~~~~~~~~~\n"
            "  hint: did you mean 'ON_BASIC_BLOCK_EXIT'?\n");
}

TEST(Diagnostics, MissingSemicolonIsLocated) {
  EXPECT_EQ(errors_of("ON_KERNEL_ENTRY: {\n  break\n}\n"),
            "t.cod:3:1: error: unexpected '}'\n"
            "  }\n"
            "  ^\n"
            "  hint: expected ';'\n");
}

TEST(Diagnostics, ReservedWordsAreRejected) {
  EXPECT_EQ(errors_of("ON_KERNEL_ENTRY: { goto end; }"),
            "t.cod:1:20: error: 'goto' is not part of the language\n"
            "  ON_KERNEL_ENTRY: { goto end; }\n"
            "                     ^~~~\n"
            "  hint: use loops, if, switch, break and return\n");
}

TEST(Diagnostics, UnfinishedFileIsRejected) {
  EXPECT_EQ(errors_of("ON_KERNEL_ENTRY: { return; "),
            "t.cod:1:18: error: this '{' is never closed\n"
            "  ON_KERNEL_ENTRY: { return; \n"
            "                   ^\n");
}

TEST(Diagnostics, ReportsSeveralErrorsAtOnce) {
  EXPECT_EQ(errors_of("ON_KERNEL_ENTRY: { a = 1; }\nON_KERNEL_EXIT: { b = 2; memoryAddress(); }\n"),
            "t.cod:1:20: error: unknown name 'a'\n"
            "  ON_KERNEL_ENTRY: { a = 1; }\n"
            "                     ^\n"
            "t.cod:2:19: error: unknown name 'b'\n"
            "  ON_KERNEL_EXIT: { b = 2; memoryAddress(); }\n"
            "                    ^\n"
            "t.cod:2:26: error: memoryAddress() is not available in ON_KERNEL_EXIT\n"
            "  ON_KERNEL_EXIT: { b = 2; memoryAddress(); }\n"
            "                           ^~~~~~~~~~~~~~~\n"
            "  hint: use it in ON_INSTRUCTION or ON_INSTRUCTION_AFTER\n");
}

TEST(Diagnostics, SyncThreadsIsRejectedUnderACondition) {
  EXPECT_EQ(errors_of("ON_KERNEL_EXIT: { if (laneId() == 0) syncThreads(); }"),
            "t.cod:1:38: error: syncThreads() is safe only where all threads of the block execute it\n"
            "  ON_KERNEL_EXIT: { if (laneId() == 0) syncThreads(); }\n"
            "                                       ^~~~~~~~~~~~~\n"
            "  hint: use it in ON_KERNEL_ENTRY or ON_KERNEL_EXIT outside of any condition\n");
}

TEST(Diagnostics, PointerMisuseIsExplained) {
  EXPECT_EQ(
      errors_of(
          "struct v { int x; }; global struct v a[4];\n"
          "ON_KERNEL_EXIT: { struct v *p = &a[0]; p.x = 1; const struct v *q = p; q->x = 1; int n = p; }"),
      "t.cod:2:40: error: 'p' is a pointer\n"
      "  ON_KERNEL_EXIT: { struct v *p = &a[0]; p.x = 1; const struct v *q = p; q->x = 1; int n = p; }\n"
      "                                         ^~~\n"
      "  hint: write 'p->x'\n"
      "t.cod:2:72: error: cannot assign through 'q', which is a pointer to const\n"
      "  ON_KERNEL_EXIT: { struct v *p = &a[0]; p.x = 1; const struct v *q = p; q->x = 1; int n = p; }\n"
      "                                                                         ^~~~\n"
      "t.cod:2:90: error: a pointer cannot be used as a number\n"
      "  ON_KERNEL_EXIT: { struct v *p = &a[0]; p.x = 1; const struct v *q = p; q->x = 1; int n = p; }\n"
      "                                                                                           ^\n"
      "  hint: write '*' before it to access its target; the difference of two pointers is a number\n");
}

TEST(Diagnostics, InvalidExtentCausesNoFurtherErrors) {
  EXPECT_EQ(errors_of("shared int s[BLOCKS]; ON_KERNEL_EXIT: { s[0] = 1; }"),
            "t.cod:1:14: error: the extent of this array must be a constant integer\n"
            "  shared int s[BLOCKS]; ON_KERNEL_EXIT: { s[0] = 1; }\n"
            "               ^~~~~~\n"
            "  hint: WARPS_PER_BLOCK and THREADS_PER_BLOCK are the upper limits, 32 and 1024\n");
}

TEST(Diagnostics, ReportsOneErrorPerConstructAtFileScope) {
  EXPECT_EQ(errors_of("ON_KERNEL_EXIT: { goto end; int x = ; } }\nON_KERNEL_ENTRY: { int y = ; }\n"),
            "t.cod:1:19: error: 'goto' is not part of the language\n"
            "  ON_KERNEL_EXIT: { goto end; int x = ; } }\n"
            "                    ^~~~\n"
            "  hint: use loops, if, switch, break and return\n"
            "t.cod:2:28: error: unexpected ';'\n"
            "  ON_KERNEL_ENTRY: { int y = ; }\n"
            "                             ^\n");
}

TEST(Diagnostics, VoteIsRejectedUnderAnElection) {
  EXPECT_EQ(
      errors_of(
          "int n;\nON_INSTRUCTION: {\n  if (leastActiveThreadInWarp()) n += divergentWarp(laneId() < 4);\n}"),
      "t.cod:3:39: error: divergentWarp() under leastActiveThreadInWarp() would see a single lane\n"
      "    if (leastActiveThreadInWarp()) n += divergentWarp(laneId() < 4);\n"
      "                                        ^~~~~~~~~~~~~~~~~~~~~~~~~~~\n"
      "  hint: take the vote before the 'if' and store the result in a variable\n");
}

TEST(Diagnostics, EmptySpecificationIsRejected) {
  EXPECT_EQ(errors_of("// nothing\n"),
            "t.cod: error: the specification does nothing\n"
            "  hint: write a handler, for example 'ON_BASIC_BLOCK_EXIT: { ... }'\n");
}

TEST(Diagnostics, SuccessfulCompilationReturnsWarnings) {
  Diagnostics warnings;
  const std::string source = "int x;\nON_KERNEL_EXIT: { x == 1; }";
  ASSERT_TRUE(compile(source, "t.cod", &warnings).ok());
  EXPECT_EQ(render(warnings, source),
            "t.cod:2:19: warning: this value is unused\n"
            "  ON_KERNEL_EXIT: { x == 1; }\n"
            "                    ^~~~~~\n"
            "  hint: assign it, or remove the expression\n");
}

struct Refused {
  const char* source;
  const char* message;
};

class RefusedSpecification : public testing::TestWithParam<Refused> {};

TEST_P(RefusedSpecification, ReportsTheReason) {
  const auto result = compile(GetParam().source, "t.cod");
  ASSERT_FALSE(result.ok()) << GetParam().source;
  EXPECT_EQ(result.error().diagnostics[0].message, GetParam().message) << GetParam().source;
  EXPECT_GT(result.error().diagnostics[0].location.line, 0u);
}

const Refused refused[] = {
    {"int x; int x; x = 1;", "'x' is already declared"},
    {"void x; x = 1;", "a variable cannot have type 'void'"},
    {"global int a[0]; a[0] = 1;", "an array needs at least one element"},
    {"global int a[-1]; a[0] = 1;", "an array needs at least one element"},
    {"global int a[2.5]; a[0] = 1;",
     "the extent of a 'global' array must be a named extent or a constant integer"},
    {"global int a[blockDim()]; a[0] = 1;",
     "the extent of a 'global' array must be a named extent or a constant integer"},
    {"global int a[THREAD]; a[0] = 1;", "unknown name 'THREAD'"},
    {"global int a[4]; a = 1;", "'a' is an array"},
    {"global int a[4]; a[0][1] = 1;", "wrong number of indices for 'a': expected 1, have 2"},
    {"global int a[4]; a[1.0] = 1;", "an index requires an integer value, but this has type double"},
    {"int x; x[0] = 1;", "only arrays and pointers have elements, and 'x' is neither"},
    {"laneId()[0] = 1;", "only arrays and pointers have elements, and only structures have fields"},
    {"b[0] = 1;", "unknown name 'b'"},
    {"THREADS = 1;", "an extent is not assignable"},
    {"1 = 2;", "this expression is not assignable"},
    {"const int c = 1; c = 2;", "cannot assign to 'c', which is const"},
    {"const int c; int x = c;", "the constant 'c' has no initialiser"},
    {"const int c = laneId(); int x = c;",
     "the initialiser of a 'const' at file scope must be a compile-time constant"},
    {"int x = 1.5 % 2;", "this operator requires an integer value, but this has type double"},
    {"double d; d <<= 1;", "this operator requires an integer value, but this has type double"},
    {"int x = ~1.0;", "'~' requires an integer value, but this has type double"},
    {"bool b; b++;", "a bool cannot be incremented or decremented"},
    {"int y; int x = &y;", "a pointer cannot be used as a number"},
    {"int x = syncWarp();", "this expression has no value"},
    {"int x = \"text\";", "a string is not allowed here"},
    {"int x = laneId;", "'laneId' is a function"},
    {"int x = laneId(1);", "laneId() takes 0 arguments, not 1"},
    {"int x; x = x();", "'x' is a variable, not a function"},
    {"break;", "'break' is outside of any loop or switch"},
    {"continue;", "'continue' is outside of any loop"},
    {"return 1;", "a handler cannot return a value"},
    {"int f() { return; } int x = f();", "this function must return a value of type int"},
    {"void f() { return 1; } f();", "a void function cannot return a value"},
    {"int f(int a) { return f(a); } int x = f(1);", "'f' is recursive"},
    {"int f(int a) { return 1; } int x = f();", "'f()' takes 1 argument, not 0"},
    {"int laneId() { return 1; } int x;", "'laneId' is a built-in function"},
    {"int f() { return accessSize(); } ON_KERNEL_EXIT: { int y = f(); }",
     "'f()' calls accessSize(), which is not available in ON_KERNEL_EXIT"},
    {"int s; int f() { return s; } ON_REPORT: { emit(\"x\", f()); }",
     "'f()' uses 's', which belongs to the kernel's threads and is not available in ON_REPORT"},
    {"int s; ON_REPORT: { emit(\"x\", s); }",
     "'s' belongs to the threads of the kernel and is not available in ON_REPORT"},
    {"ON_REPORT: { emit(\"x\", laneId()); }", "laneId() is not available in ON_REPORT"},
    {"ON_KERNEL_EXIT: { emit(\"x\", 1); }", "emit() is not available in ON_KERNEL_EXIT"},
    {"ON_REPORT: { emit(1, 1); }", "the name of a result must be a non-empty string"},
    {"ON_REPORT: { print(\"%d\", 1.5); }", "'%d' cannot format a value of type double"},
    {"ON_REPORT: { print(\"%f\", 1); }", "'%f' cannot format a value of type int"},
    {"ON_REPORT: { print(\"%y\", 1); }", "'%y' is not a conversion that print() supports"},
    {"ON_REPORT: { print(\"%d %d\", 1); }", "this format string takes 2 values, not 1"},
    {"ON_REPORT: { emit(\"x\", sum(1)); }", "sum() needs a 'global' array"},
    {"global int a[4]; atomicAdd(a[0], 1);", "an atomic function needs the address of an array element"},
    {"int x; atomicAdd(&x, 1);", "only elements of 'global' and 'shared' arrays can be modified atomically"},
    {"global short a[4]; atomicAdd(&a[0], 1);",
     "atomicAdd() needs 32-bit or 64-bit elements, but 'a' has elements of type short"},
    {"global float a[4]; atomicMax(&a[0], 1);",
     "atomicMax() needs integer elements, but 'a' has elements of type float"},
    {"ON_BASIC_BLOCK_ENTRY: { int x = basicBlockExecutedInstructionCount(); }",
     "basicBlockExecutedInstructionCount() is not available in ON_BASIC_BLOCK_ENTRY"},
    {"ON_KERNEL_ENTRY: { int x = basicBlockId(); }", "basicBlockId() is not available in ON_KERNEL_ENTRY"},
    {"ON_KERNEL_ENTRY: { if (laneId()) syncThreads(); }",
     "syncThreads() is safe only where all threads of the block execute it"},
    {"ON_KERNEL_ENTRY: ON_KERNEL_EXIT: { int x; }", "a handler can have only one target"},
    {"ON_KERNEL_ENTRY: MEM_READ: { int x; }", "the filter MEM_READ needs the target ON_INSTRUCTION"},
    {"ON_INSTRUCTION: MEM_RAED: { int x; }", "unknown label 'MEM_RAED'"},
    {"int x = 99999999999999999999;", "this integer constant does not fit in 64 bits"},
    {"int x = 08;", "this is not a valid number in base 8"},
    {"int x = 1lul;", "'lul' is not a valid suffix of an integer constant"},
    {"double x = 1e999;", "this constant does not fit in a double"},
    {"unsigned float x;", "this is not a valid type"},
    {"int LANES; LANES = 1;", "'LANES' is a predefined extent"},
    {"int x[200];", "too many per-thread variables"},
    {"int *p;", "a per-thread variable cannot be a pointer"},
    {"int x[4] = 3;", "the initialiser of 'x' must be a list in braces"},
    {"print(\"open);", "unterminated string"},
    {"struct point p; p.x = 1;", "unknown type 'struct point'"},
    {"struct point { int x; }; struct point { int x; };", "'struct point' is already defined"},
    {"struct point { int x, x; };", "the field 'x' is already declared"},
    {"struct point { struct point p; };", "unknown type 'struct point'"},
    {"struct point { int x; } p; p.y = 1;", "'p' has no field 'y'"},
    {"struct point { int x; } p; int y = p;", "a structure cannot be used as a number"},
    {"struct point { int x; } p; struct other { int x; } q; p = q;",
     "a structure can only be assigned a structure of the same type"},
    {"struct point { int x; }; global struct point a[4]; a.x = 1;", "'a' is an array"},
    {"struct s { int x; }; struct t { int x; }; int f(struct s a) { return 1; } struct t v; f(v);",
     "a 'struct s' is required here"},
    {"struct s { int x; }; struct s f() { return 1; } f();", "a 'struct s' is required here"},
    {"struct s { int x; }; struct s f() { struct s v; return v; } f().x = 1;",
     "the result of a function is not assignable"},
    {"{ int **p; }", "pointers to pointers are not supported"},
    {"{ int x; int *p = &x; p = &p; }", "pointers to pointers are not supported"},
    {"{ int *a[4]; }", "arrays of pointers are not supported"},
    {"struct s { int *p; };", "a structure cannot contain pointers"},
    {"typedef int *link;", "a typedef cannot name a pointer type"},
    {"{ void *p = 0; }", "a pointer needs a type to point to"},
    {"{ int x; long *p = &x; }", "cannot convert 'int *' to 'long *'"},
    {"{ const int x[2] = {1}; int *p = x; }", "this conversion discards 'const'"},
    {"{ int x; int *p = x; }", "expected a pointer here, not a value of type int"},
    {"{ int x; int *p = &x; p *= 2; }", "this operator does not apply to a pointer"},
    {"{ int x; int *p = &x; p + p; }", "a pointer cannot be used as a number"},
    {"{ int x; int *p = &x; long y = (long)p; }", "a pointer cannot be used as a number"},
    {"{ int x; int *p = &x; long *q; x = p == q; }", "these operands cannot be compared"},
    {"{ int *p = &3; }", "only variables and elements of arrays have an address"},
    {"{ int *p = &THREADS; }", "only variables and elements of arrays have an address"},
    {"{ int x; int *const p = &x; p = &x; }", "cannot assign to 'p', which is const"},
    {"{ int x; int *p = &x; x = sizeof p; }", "'sizeof' cannot be applied to a pointer"},
    {"{ int x; atomicAdd(x, 1); }", "an atomic function needs the address of an array element"},
    {"const int t[2] = {1, 2}; atomicAdd(&t[0], 1);",
     "only elements of 'global' and 'shared' arrays can be modified atomically"},
    {"global int a[2]; { const int *p = a; atomicAdd(p, 1); }",
     "an atomic function cannot modify the target of a pointer to const"},
    {"void f(int a[2][2]) { } f(0);", "a parameter cannot be an array of arrays or of pointers"},
    {"volatile int x; x = 1;", "'volatile' is not supported"},
    {"#define N 3\nint x;", "preprocessor directives are not supported"},
    {"int x = 'ab';", "a character constant must contain exactly one character"},
    {"int x = '\\q';", "'\\q' is not an escape sequence"},
    {"include \"no/such/file.cod\"\nint x;", "'no/such/file.cod' cannot be read"},
    {"include \"t.cod\"", "this includes the file itself"},
    {"struct s { int x; } p, q; q, p;", "a structure cannot be used as a number"},
    {"struct s { int x; } p, q; q = (1, p);", "a structure cannot be used as a number"},
    {"struct s { int x[2[2]]; }; global struct s a[2]; global struct s b[2]; a[0] = b[0];",
     "only arrays and pointers have elements, and only structures have fields"},
    {"int x; x.y = 1;", "'x' has no fields"},
    {"typedef int number; number number2 = 1.5 % 2;",
     "this operator requires an integer value, but this has type double"},
    {"unsigned typedef int x;", "unexpected 'typedef'"},
    {"enum { A, B = 1 / 0 }; int x = B;",
     "the initialiser of a 'const' at file scope must be a compile-time constant"},
    {"enum { A, A };", "'A' is already declared"},
    {"{ static int x = 1; }", "'static' is not allowed inside a block"},
    {"{ int a[]; }", "the array 'a' needs an extent"},
    {"{ int a[2] = {1, 2, 3}; }", "'a' has more initialisers than elements"},
    {"{ int a[2][2] = {{1, 2, 3}}; }", "this list has more values than elements"},
    {"{ int a = {1}; }", "'a' is a scalar, so its initialiser cannot be a list"},
    {"{ int a[5000]; }", "a local array of 20000 bytes is too large"},
    {"shared int a[THREADS]; a[0] = 1;", "the extent of this array must be a constant integer"},
    {"shared long a[7000]; a[0] = 1;", "a 'shared' array of 56000 bytes is too large"},
    {"shared int a[4]; ON_REPORT: { emit(\"x\", a[0]); }",
     "'a' belongs to the thread blocks of the kernel and is not available in ON_REPORT"},
    {"const int t[4]; int x = t[0];", "the table 't' has no initialiser"},
    {"const int t[2] = {1, 2}; t[0] = 3;", "cannot assign to 't', which is const"},
    {"const int t[2] = {laneId()}; int x = t[0];",
     "the initialisers of a table must be compile-time constants"},
    {"{ const int t[2] = {1, 2}; t[0] = 3; }", "cannot assign to 't', which is const"},
    {"switch (1.5) { }", "a switch requires an integer value, but this has type double"},
    {"switch (1) { case 1: case 1: ; }", "duplicate case value"},
    {"switch (1) { default: ; default: ; }", "this switch has more than one 'default'"},
    {"switch (1) { case laneId(): ; }", "a case value must be a compile-time integer constant"},
    {"{ case 1: ; }", "'case' is outside of any switch"},
    {"switch (1) { case 1: continue; }", "'continue' is outside of any loop"},
    {"global int a[THREADS]; int x = sizeof a;", "the size of 'a' is known only at the launch"},
    {"int x; x = uniqueElementCount(1.5);",
     "uniqueElementCount() requires an integer value, but this has type double"},
    {"int x = uniqueElementCount(1, laneId());",
     "the second argument, which selects half warps, must be a compile-time constant"},
    {"int x = uniqueElementCount(sharedMem, true);", "no statement before this one assigns to 'sharedMem'"},
    {"if (laneId() < 3) sharedMem[0] = 1; int x = uniqueElementCount(sharedMem);",
     "no statement before this one assigns to 'sharedMem'"},
    {"int n; if (leastActiveThreadInWarp()) n = warpSum(1);",
     "warpSum() under leastActiveThreadInWarp() would see a single lane"},
    {"int n; if (leastActiveThreadInWarp()) n = activeThreadCount();",
     "activeThreadCount() under leastActiveThreadInWarp() would see a single lane"},
    {"int n; n = leastActiveThreadInWarp() && activeMask() > 3;",
     "activeMask() under leastActiveThreadInWarp() would see a single lane"},
    {"int n; n = !leastActiveThreadInWarp() ? 0 : warpSum(1);",
     "warpSum() under leastActiveThreadInWarp() would see a single lane"},
    {"int n; if (n != 0 || !leastActiveThreadInWarp()) n = 3; else n = ballot(1);",
     "ballot() under leastActiveThreadInWarp() would see a single lane"},
    {"int n; ON_INSTRUCTION: MEM_READ: if (n != 0 && leastActiveThreadInWarp()) n = firstInSector();",
     "firstInSector() under leastActiveThreadInWarp() would see a single lane"},
    {"int n; static int conflicts() { return bankConflicts(); } ON_INSTRUCTION: SHARED: if "
     "(leastActiveThreadInWarp()) n = conflicts();",
     "'conflicts()' calls bankConflicts(), which would see a single lane here"},
    {"int n; if (leastActiveThreadInWarp()) n = uniqueElementCount(laneId());",
     "uniqueElementCount() under leastActiveThreadInWarp() would see a single lane"},
    {"ON_KERNEL_EXIT: OPCODE(\"ld*\"): { int x; }", "the filter OPCODE needs the target ON_INSTRUCTION"},
    {"ON_INSTRUCTION: OPCODE(1): { int x; }", "OPCODE needs a string"},
    {"ON_INSTRUCTION: MEM_READ(1): { int x; }", "MEM_READ takes no arguments"},
    {"ON_INSTRUCTION: SOURCE(\"a.cu\"): { int x; }", "SOURCE needs a positive constant"},
    {"ON_KERNEL_EXIT: SOURCE(\"a.cu\", 4): { int x; }",
     "the filter SOURCE needs the target ON_INSTRUCTION or a loop target"},
    {"ON_INSTRUCTION: SOURCE(\"a.cu\", 4, 3): { int x; }", "the last line is before the first"},
    {"ON_KERNEL_EXIT: EVERY(0): { int x; }", "EVERY needs a positive constant"},
    {"ON_KERNEL_EXIT: SAMPLE_WARPS(-1): { }", "SAMPLE_WARPS needs a positive constant"},
    {"ON_KERNEL_EXIT: SAMPLE_LAUNCHES(2): { } ON_KERNEL_ENTRY: SAMPLE_LAUNCHES(3): { }",
     "launch sampling applies to the whole file, but another handler samples 1 of 2"},
    {"ON_KERNEL_ENTRY: SAMPLE_WARPS(2): { syncThreads(); }",
     "syncThreads() would wait for the warps that SAMPLE_WARPS skips"},
    {"ON_INSTRUCTION: { unsigned long v = loadedValue(); }",
     "loadedValue() is not available in ON_INSTRUCTION"},
    {"ON_INSTRUCTION: { unsigned long v = operandValue(laneId()); }",
     "operandValue() takes a constant from 0 to 63"},
    {"ON_KERNEL_EXIT: CALL_TARGET(\"f\"): { }", "the filter CALL_TARGET needs the target ON_INSTRUCTION"},
    {"ON_REPORT: KERNEL(\"a\"): { print(\"x\"); }", "KERNEL is not allowed in ON_REPORT"},
};

INSTANTIATE_TEST_SUITE_P(Each, RefusedSpecification, testing::ValuesIn(refused),
                         [](const auto& each) { return numbered_name(each.index, each.param.message); });

struct Misspelt {
  const char* source;
  const char* message;
  const char* meant;
};

/// All positions where an undeclared name may appear.
TEST(Diagnostics, EveryKindOfNameHasSuggestions) {
  const Misspelt cases[] = {
      {"struct visit { int n; }; struct vist v;", "unknown type 'struct vist'", "struct visit"},
      {"struct visit { int n; }; ON_KERNEL_EXIT: { struct vsit v; }", "unknown type 'struct vsit'",
       "struct visit"},
      {"typedef unsigned long address; adress x;", "unknown type name 'adress'", "address"},
      {"typedef unsigned long address; ON_KERNEL_EXIT: { adress x = 1; }", "unknown type name 'adress'",
       "address"},
      {"typedef unsigned long address; static int f(adress x) { return 1; }", "unknown type name 'adress'",
       "address"},
      {"typedef unsigned long address; ON_KERNEL_EXIT: { int a = 1; int x = (adress)a; }",
       "unknown type name 'adress'", "address"},
      {"typedef unsigned long address; ON_KERNEL_EXIT: { int x = sizeof(adress); }", "unknown name 'adress'",
       "address"},
      {"typedef unsigned long address; global adress a[4];",
       "'adress' is neither a type nor a kind of storage", "address"},
      {"ON_KERNEL_EXIT: { unsinged x = 1; }", "unknown type name 'unsinged'", "unsigned"},
      {"ON_KERNEL_EXIT: { for (itn i = 0; i < 3; ++i) laneId(); }", "unknown type name 'itn'", "int"},
      {"gloabl unsigned long a[4];", "unknown word 'gloabl' before a type", "global"},
      {"enum { READ, WRITE }; ON_KERNEL_EXIT: { int x = WRTE; }", "unknown name 'WRTE'", "WRITE"},
      {"enum { READ, WRITE }; ON_KERNEL_EXIT: { switch (laneId()) { case RAED: return; } }",
       "unknown name 'RAED'", "READ"},
      {"struct visit { int count; }; ON_KERNEL_EXIT: { struct visit v; v.cuont = 1; }",
       "'v' has no field 'cuont'", "count"},
      {"struct visit { int count; }; static int f(struct visit *v) { return v->cont; }",
       "'*v' has no field 'cont'", "count"},
      {"global map int m[4] by struct key { int block; }; ON_REPORT: { emit(\"k\", entryKey(m, 0).blok); }",
       "has no field 'blok'", "block"},
      {"ON_INSTRUCTION: MEMREAD: { }", "unknown label 'MEMREAD'", "MEM_READ"},
      {"ON_INSTRUCTION: OPCOD(\"ld.*\"): { }", "unknown label 'OPCOD'", "OPCODE"},
      {"ON_KERNEL_EXIT: SAMPLE_BLOCK(2): { }", "unknown label 'SAMPLE_BLOCK'", "SAMPLE_BLOCKS"},
      {"ON_INSTRUCTON: { }", "unknown label 'ON_INSTRUCTON'", "ON_INSTRUCTION"},
      {"ON_INSTRUCTION: { int x = instructionIs(GLOBL); }", "instructionIs() takes filter labels", "GLOBAL"},
      {"ON_INSTRUCTION: { int x = accessSpace() == SHRED; }", "unknown name 'SHRED'", "SHARED"},
      {"global int a[THREAD];", "unknown name 'THREAD'", "THREADS"},
      {"shared int a[WARP_PER_BLOCK];", "unknown name 'WARP_PER_BLOCK'", "WARPS_PER_BLOCK"},
      {"ON_REPORT: { emit(\"n\", BASIC_BLOKS); }", "unknown name 'BASIC_BLOKS'", "BASIC_BLOCKS"},
      {"global hstogram h[4];", "'hstogram' is neither a type nor a kind of storage", "histogram"},
      {"global histogram h[4] = liner(0, 4);", "'liner' is not a binning function", "linear"},
      {"global map int m[4] bye int;", "unexpected 'bye'", "by"},
      {"static int larger(int a) { return a; } ON_KERNEL_EXIT: { int x = lager(1); }",
       "unknown function 'lager()'", "larger"},
      {"ON_REPORT: { emitt(\"x\", 1); }", "unknown function 'emitt()'", "emit"},
      {"host unsigned long total; ON_END: { emit(\"t\", totl); }", "unknown name 'totl'", "total"},
  };
  for (const Misspelt& each : cases) {
    const std::string errors = errors_of(each.source);
    EXPECT_NE(errors.find(each.message), std::string::npos) << each.source << "\n" << errors;
    EXPECT_NE(errors.find(std::string("  hint: did you mean '") + each.meant + "'?\n"), std::string::npos)
        << each.source << "\n"
        << errors;
  }
}

TEST(Diagnostics, TypeWithoutASimilarNameListsTypes) {
  EXPECT_EQ(errors_of("ON_KERNEL_EXIT: { quaternion q = 1; }"),
            "t.cod:1:19: error: unknown type name 'quaternion'\n"
            "  ON_KERNEL_EXIT: { quaternion q = 1; }\n"
            "                    ^~~~~~~~~~\n"
            "  hint: use 'unsigned long', 'int', 'double' or another type, or declare it with 'typedef'\n");
}

}  // namespace
}  // namespace lynxpp::cod
