// The exact text of what a user sees.
#include <gtest/gtest.h>

#include "tests/cod/test_support.h"
#include "tests/support/readable_name.h"

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
            "  hint: use loops, if, switch, break and return\n");
}

TEST(Diagnostics, AnUnfinishedFile) {
  EXPECT_EQ(errors_of("ON_KERNEL_ENTRY: { return; "),
            "t.cod:1:18: error: this '{' is never closed\n"
            "  ON_KERNEL_ENTRY: { return; \n"
            "                   ^\n");
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
            "  hint: use it in ON_INSTRUCTION or ON_INSTRUCTION_AFTER\n");
}

TEST(Diagnostics, SyncThreadsUnderACondition) {
  EXPECT_EQ(errors_of("ON_KERNEL_EXIT: { if (laneId() == 0) syncThreads(); }"),
            "t.cod:1:38: error: syncThreads() is safe only where all threads of the block come by\n"
            "  ON_KERNEL_EXIT: { if (laneId() == 0) syncThreads(); }\n"
            "                                       ^~~~~~~~~~~~~\n"
            "  hint: use it in ON_KERNEL_ENTRY or ON_KERNEL_EXIT outside any condition\n");
}

TEST(Diagnostics, Pointers) {
  EXPECT_EQ(
      errors_of(
          "struct v { int x; }; global struct v a[4];\n"
          "ON_KERNEL_EXIT: { struct v *p = &a[0]; p.x = 1; const struct v *q = p; q->x = 1; int n = p; }"),
      "t.cod:2:40: error: 'p' is a pointer\n"
      "  ON_KERNEL_EXIT: { struct v *p = &a[0]; p.x = 1; const struct v *q = p; q->x = 1; int n = p; }\n"
      "                                         ^~~\n"
      "  hint: write 'p->x'\n"
      "t.cod:2:72: error: 'q' points to what is const\n"
      "  ON_KERNEL_EXIT: { struct v *p = &a[0]; p.x = 1; const struct v *q = p; q->x = 1; int n = p; }\n"
      "                                                                         ^~~~\n"
      "t.cod:2:90: error: a pointer is no number\n"
      "  ON_KERNEL_EXIT: { struct v *p = &a[0]; p.x = 1; const struct v *q = p; q->x = 1; int n = p; }\n"
      "                                                                                           ^\n"
      "  hint: put '*' before it for what it points to; the difference of two pointers is an index\n");
}

TEST(Diagnostics, AnExtentThatIsWrongBringsNoFurtherErrors) {
  EXPECT_EQ(errors_of("shared int s[BLOCKS]; ON_KERNEL_EXIT: { s[0] = 1; }"),
            "t.cod:1:14: error: the extent of this array must be a constant integer\n"
            "  shared int s[BLOCKS]; ON_KERNEL_EXIT: { s[0] = 1; }\n"
            "               ^~~~~~\n"
            "  hint: WARPS_PER_BLOCK and THREADS_PER_BLOCK are the most there can be: 32 and 1024\n");
}

TEST(Diagnostics, OneErrorForEachConstructAtFileScope) {
  EXPECT_EQ(errors_of("ON_KERNEL_EXIT: { goto end; int x = ; } }\nON_KERNEL_ENTRY: { int y = ; }\n"),
            "t.cod:1:19: error: 'goto' is not part of the language\n"
            "  ON_KERNEL_EXIT: { goto end; int x = ; } }\n"
            "                    ^~~~\n"
            "  hint: use loops, if, switch, break and return\n"
            "t.cod:2:28: error: unexpected ';'\n"
            "  ON_KERNEL_ENTRY: { int y = ; }\n"
            "                             ^\n");
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
    {"int x; x[0] = 1;", "only arrays and pointers have elements, and 'x' is neither"},
    {"laneId()[0] = 1;", "only arrays and pointers have elements, and only structures have fields"},
    {"b[0] = 1;", "unknown name 'b'"},
    {"THREADS = 1;", "an extent cannot be assigned"},
    {"1 = 2;", "this cannot be assigned"},
    {"const int c = 1; c = 2;", "'c' is const"},
    {"const int c; int x = c;", "the constant 'c' has no value"},
    {"const int c = laneId(); int x = c;", "a 'const' at file scope needs a value known at compile time"},
    {"int x = 1.5 % 2;", "this operator needs integers, and this is a double"},
    {"double d; d <<= 1;", "this operator needs integers, and this is a double"},
    {"int x = ~1.0;", "'~' needs integers, and this is a double"},
    {"bool b; b++;", "a bool cannot be stepped"},
    {"int y; int x = &y;", "a pointer is no number"},
    {"int x = syncWarp();", "this has no value"},
    {"int x = \"text\";", "a string has no value here"},
    {"int x = laneId;", "'laneId' is a function"},
    {"int x = laneId(1);", "laneId() takes 0 arguments, not 1"},
    {"int x; x = x();", "'x' is a variable, not a function"},
    {"break;", "'break' stands outside a loop and a switch"},
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
    {"ON_REPORT: { print(\"%y\", 1); }", "'%y' is no conversion that print() knows"},
    {"ON_REPORT: { print(\"%d %d\", 1); }", "this format takes 2 values, not 1"},
    {"ON_REPORT: { emit(\"x\", sum(1)); }", "sum() needs a 'global' array"},
    {"global int a[4]; atomicAdd(a[0], 1);", "an atomic function needs the address of an element"},
    {"int x; atomicAdd(&x, 1);", "only elements of 'global' and 'shared' arrays can be changed atomically"},
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
    {"int x = 99999999999999999999;", "this number does not fit 64 bits"},
    {"int x = 08;", "this is no number of base 8"},
    {"int x = 1lul;", "'lul' is no suffix of an integer"},
    {"double x = 1e999;", "this number does not fit a double"},
    {"unsigned float x;", "this is no type"},
    {"int LANES; LANES = 1;", "'LANES' is the name of an extent"},
    {"int x[200];", "the variables of a thread are too many"},
    {"int *p;", "a variable of a thread is no pointer"},
    {"int x[4] = 3;", "the values of 'x' stand in braces"},
    {"print(\"open);", "this string has no end"},
    {"struct point p; p.x = 1;", "there is no 'struct point'"},
    {"struct point { int x; }; struct point { int x; };", "'struct point' is defined twice"},
    {"struct point { int x, x; };", "the field 'x' is declared twice"},
    {"struct point { struct point p; };", "there is no 'struct point'"},
    {"struct point { int x; } p; p.y = 1;", "'p' has no field 'y'"},
    {"struct point { int x; } p; int y = p;", "a whole structure is no number"},
    {"struct point { int x; } p; struct other { int x; } q; p = q;",
     "a structure takes a structure of the same type with '='"},
    {"struct point { int x; }; global struct point a[4]; a.x = 1;", "'a' is an array"},
    {"struct s { int x; }; struct t { int x; }; int f(struct s a) { return 1; } struct t v; f(v);",
     "a 'struct s' is wanted here"},
    {"struct s { int x; }; struct s f() { return 1; } f();", "a 'struct s' is wanted here"},
    {"struct s { int x; }; struct s f() { struct s v; return v; } f().x = 1;",
     "the result of a function is no variable"},
    {"{ int **p; }", "pointers to pointers are not part of the language"},
    {"{ int x; int *p = &x; p = &p; }", "pointers to pointers are not part of the language"},
    {"{ int *a[4]; }", "there are no arrays of pointers"},
    {"struct s { int *p; };", "a structure holds no pointers"},
    {"typedef int *link;", "a typedef names no pointer type"},
    {"{ void *p = 0; }", "a pointer needs the type of what it points to"},
    {"{ int x; long *p = &x; }", "a 'int *' does not fit a 'long *'"},
    {"{ const int x[2] = {1}; int *p = x; }", "what this points to is const"},
    {"{ int x; int *p = x; }", "a pointer is wanted here, not a value of type int"},
    {"{ int x; int *p = &x; p *= 2; }", "a pointer is no number"},
    {"{ int x; int *p = &x; p + p; }", "a pointer is no number"},
    {"{ int x; int *p = &x; long y = (long)p; }", "a pointer is no number"},
    {"{ int x; int *p = &x; long *q; x = p == q; }", "these cannot be compared"},
    {"{ int *p = &3; }", "only variables and elements of arrays have an address"},
    {"{ int *p = &THREADS; }", "only variables and elements of arrays have an address"},
    {"{ int x; int *const p = &x; p = &x; }", "'p' is const"},
    {"{ int x; int *p = &x; x = sizeof p; }", "a pointer has no size"},
    {"{ int x; atomicAdd(x, 1); }", "an atomic function needs the address of an element"},
    {"const int t[2] = {1, 2}; atomicAdd(&t[0], 1);",
     "only elements of 'global' and 'shared' arrays can be changed atomically"},
    {"global int a[2]; { const int *p = a; atomicAdd(p, 1); }", "this points to what is const"},
    {"void f(int a[2][2]) { } f(0);", "a parameter is no array of arrays or of pointers"},
    {"volatile int x; x = 1;", "'volatile' is not part of the language"},
    {"#define N 3\nint x;", "there is no preprocessor"},
    {"int x = 'ab';", "a character constant holds one character"},
    {"int x = '\\q';", "'\\q' is no escape sequence"},
    {"include \"no/such/file.cod\"\nint x;", "'no/such/file.cod' cannot be read"},
    {"include \"t.cod\"", "this includes the file itself"},
    {"struct s { int x; } p, q; q, p;", "a whole structure is no number"},
    {"struct s { int x; } p, q; q = (1, p);", "a whole structure is no number"},
    {"struct s { int x[2[2]]; }; global struct s a[2]; global struct s b[2]; a[0] = b[0];",
     "only arrays and pointers have elements, and only structures have fields"},
    {"int x; x.y = 1;", "'x' has no fields"},
    {"typedef int number; number number2 = 1.5 % 2;", "this operator needs integers, and this is a double"},
    {"unsigned typedef int x;", "unexpected 'typedef'"},
    {"enum { A, B = 1 / 0 }; int x = B;", "a 'const' at file scope needs a value known at compile time"},
    {"enum { A, A };", "'A' is declared twice"},
    {"{ static int x = 1; }", "'static' has no meaning inside a block"},
    {"{ int a[]; }", "the array 'a' needs its extent"},
    {"{ int a[2] = {1, 2, 3}; }", "'a' has more values than elements"},
    {"{ int a[2][2] = {{1, 2, 3}}; }", "there are more values in these braces than elements"},
    {"{ int a = {1}; }", "'a' is one value, not a list"},
    {"{ int a[5000]; }", "an array of a handler of 20000 bytes is too large"},
    {"shared int a[THREADS]; a[0] = 1;", "the extent of this array must be a constant integer"},
    {"shared long a[7000]; a[0] = 1;", "a 'shared' array of 56000 bytes is too large"},
    {"shared int a[4]; ON_REPORT: { emit(\"x\", a[0]); }",
     "'a' belongs to the thread blocks of the kernel and is gone in ON_REPORT"},
    {"const int t[4]; int x = t[0];", "the table 't' has no values"},
    {"const int t[2] = {1, 2}; t[0] = 3;", "'t' is const"},
    {"const int t[2] = {laneId()}; int x = t[0];", "a table needs values known at compile time"},
    {"{ const int t[2] = {1, 2}; t[0] = 3; }", "'t' is const"},
    {"switch (1.5) { }", "a switch needs integers, and this is a double"},
    {"switch (1) { case 1: case 1: ; }", "this switch has this case twice"},
    {"switch (1) { default: ; default: ; }", "this switch has two 'default'"},
    {"switch (1) { case laneId(): ; }", "a case needs an integer known at compile time"},
    {"{ case 1: ; }", "'case' stands outside a switch"},
    {"switch (1) { case 1: continue; }", "'continue' stands outside a loop"},
    {"global int a[THREADS]; int x = sizeof a;", "the size of 'a' is known at the launch only"},
    {"int x; x = uniqueElementCount(1.5);", "uniqueElementCount() needs integers, and this is a double"},
    {"int x = uniqueElementCount(1, laneId());",
     "whether half warps are counted must be known at compile time"},
    {"int x = uniqueElementCount(sharedMem, true);", "no lane has assigned to 'sharedMem' yet"},
    {"if (laneId() < 3) sharedMem[0] = 1; int x = uniqueElementCount(sharedMem);",
     "no lane has assigned to 'sharedMem' yet"},
    {"int n; if (leastActiveThreadInWarp()) n = warpSum(1);",
     "warpSum() under leastActiveThreadInWarp() would see one lane"},
    {"int n; if (leastActiveThreadInWarp()) n = activeThreadCount();",
     "activeThreadCount() under leastActiveThreadInWarp() would see one lane"},
    {"int n; n = leastActiveThreadInWarp() && activeMask() > 3;",
     "activeMask() under leastActiveThreadInWarp() would see one lane"},
    {"int n; n = !leastActiveThreadInWarp() ? 0 : warpSum(1);",
     "warpSum() under leastActiveThreadInWarp() would see one lane"},
    {"int n; if (n != 0 || !leastActiveThreadInWarp()) n = 3; else n = ballot(1);",
     "ballot() under leastActiveThreadInWarp() would see one lane"},
    {"int n; ON_INSTRUCTION: MEM_READ: if (n != 0 && leastActiveThreadInWarp()) n = firstInSector();",
     "firstInSector() under leastActiveThreadInWarp() would see one lane"},
    {"int n; static int conflicts() { return bankConflicts(); } ON_INSTRUCTION: SHARED: if "
     "(leastActiveThreadInWarp()) n = conflicts();",
     "'conflicts()' uses bankConflicts(), which would see one lane here"},
    {"int n; if (leastActiveThreadInWarp()) n = uniqueElementCount(laneId());",
     "uniqueElementCount() under leastActiveThreadInWarp() would see one lane"},
    {"ON_KERNEL_EXIT: OPCODE(\"ld*\"): { int x; }", "the filter OPCODE needs the target ON_INSTRUCTION"},
    {"ON_INSTRUCTION: OPCODE(1): { int x; }", "OPCODE needs a string"},
    {"ON_INSTRUCTION: MEM_READ(1): { int x; }", "MEM_READ takes no arguments"},
    {"ON_INSTRUCTION: SOURCE(\"a.cu\"): { int x; }", "SOURCE needs a positive constant"},
    {"ON_INSTRUCTION: SOURCE(\"a.cu\", 4, 3): { int x; }", "the last line stands before the first"},
    {"ON_KERNEL_EXIT: EVERY(0): { int x; }", "EVERY needs a positive constant"},
    {"ON_KERNEL_EXIT: SAMPLE_WARPS(-1): { }", "SAMPLE_WARPS needs a positive constant"},
    {"ON_KERNEL_EXIT: SAMPLE_LAUNCHES(2): { } ON_KERNEL_ENTRY: SAMPLE_LAUNCHES(3): { }",
     "launches are sampled for the whole file, and another handler samples 1 of 2"},
    {"ON_KERNEL_ENTRY: SAMPLE_WARPS(2): { syncThreads(); }",
     "syncThreads() would wait for the warps that SAMPLE_WARPS leaves out"},
    {"ON_INSTRUCTION: { unsigned long v = loadedValue(); }",
     "loadedValue() has no meaning in ON_INSTRUCTION"},
    {"ON_INSTRUCTION: { unsigned long v = operandValue(laneId()); }",
     "operandValue() takes a constant from 0 to 63"},
    {"ON_KERNEL_EXIT: CALL_TARGET(\"f\"): { }", "the filter CALL_TARGET needs the target ON_INSTRUCTION"},
    {"ON_REPORT: KERNEL(\"a\"): { print(\"x\"); }", "KERNEL has no meaning in ON_REPORT"},
};

INSTANTIATE_TEST_SUITE_P(Each, RefusedSpecification, testing::ValuesIn(refused),
                         [](const auto& each) { return numbered_name(each.index, each.param.message); });

struct Misspelt {
  const char* source;
  const char* message;
  const char* meant;
};

/// Wherever a name can stand that nobody has declared.
TEST(Diagnostics, EveryKindOfNameHasSuggestions) {
  const Misspelt cases[] = {
      {"struct visit { int n; }; struct vist v;", "there is no 'struct vist'", "struct visit"},
      {"struct visit { int n; }; ON_KERNEL_EXIT: { struct vsit v; }", "there is no 'struct vsit'",
       "struct visit"},
      {"typedef unsigned long address; adress x;", "there is no type 'adress'", "address"},
      {"typedef unsigned long address; ON_KERNEL_EXIT: { adress x = 1; }", "there is no type 'adress'",
       "address"},
      {"typedef unsigned long address; static int f(adress x) { return 1; }", "there is no type 'adress'",
       "address"},
      {"typedef unsigned long address; ON_KERNEL_EXIT: { int a = 1; int x = (adress)a; }",
       "there is no type 'adress'", "address"},
      {"typedef unsigned long address; ON_KERNEL_EXIT: { int x = sizeof(adress); }", "unknown name 'adress'",
       "address"},
      {"typedef unsigned long address; global adress a[4];", "'adress' is no type and no kind of storage",
       "address"},
      {"ON_KERNEL_EXIT: { unsinged x = 1; }", "there is no type 'unsinged'", "unsigned"},
      {"ON_KERNEL_EXIT: { for (itn i = 0; i < 3; ++i) laneId(); }", "there is no type 'itn'", "int"},
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
      {"ON_INSTRUCTION: { int x = instructionIs(GLOBL); }", "instructionIs() compares with filter labels",
       "GLOBAL"},
      {"ON_INSTRUCTION: { int x = accessSpace() == SHRED; }", "unknown name 'SHRED'", "SHARED"},
      {"global int a[THREAD];", "unknown name 'THREAD'", "THREADS"},
      {"shared int a[WARP_PER_BLOCK];", "unknown name 'WARP_PER_BLOCK'", "WARPS_PER_BLOCK"},
      {"ON_REPORT: { emit(\"n\", BASIC_BLOKS); }", "unknown name 'BASIC_BLOKS'", "BASIC_BLOCKS"},
      {"global hstogram h[4];", "'hstogram' is no type and no kind of storage", "histogram"},
      {"global histogram h[4] = liner(0, 4);", "'liner' is no way to make bins", "linear"},
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

TEST(Diagnostics, ATypeLikeNoOther) {
  EXPECT_EQ(errors_of("ON_KERNEL_EXIT: { quaternion q = 1; }"),
            "t.cod:1:19: error: there is no type 'quaternion'\n"
            "  ON_KERNEL_EXIT: { quaternion q = 1; }\n"
            "                    ^~~~~~~~~~\n"
            "  hint: types are 'unsigned long', 'int', 'double' and others, and what 'typedef' names\n");
}

}  // namespace
}  // namespace lynxpp::cod
