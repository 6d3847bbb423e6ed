// Pointers, structures as arguments and results, and arrays of per-thread variables: results known in closed
// form, on the cpu device and in ON_REPORT.
#include <gtest/gtest.h>

#include "tests/cod/conformance_fixture.h"
#include "tests/cod/test_support.h"
#include "tests/support/readable_name.h"

namespace lynxpp::cod {
namespace {

Shape line(std::uint32_t threads, std::uint32_t blocks = 1) { return {{blocks, 1, 1}, {threads, 1, 1}}; }

struct Construct {
  const char* file_scope;
  const char* code;
  double expected;
};

class Pointer : public testing::TestWithParam<Construct> {};

TEST_P(Pointer, ComputesWhatCComputes) {
  const std::string source = std::string(GetParam().file_scope) +
                             "\nglobal long result;\nON_KERNEL_EXIT: { long r = 0; " + GetParam().code +
                             " result = r; }\nON_REPORT: { emit(\"r\", result); }";
  const Measured measured = measure(source, line(1));
  ASSERT_EQ(measured.failure, "") << source;
  EXPECT_EQ(measured["r"], GetParam().expected) << source;
  EXPECT_EQ(measured.dropped, 0u) << source;
}

TEST_P(Pointer, ComputesTheSameInTheReport) {
  const std::string source = std::string(GetParam().file_scope) + "\nON_REPORT: { long r = 0; " +
                             GetParam().code + " emit(\"r\", r); }";
  const Measured measured = measure(source, line(1));
  ASSERT_EQ(measured.failure, "") << source;
  EXPECT_EQ(measured["r"], GetParam().expected) << source;
}

const Construct constructs[] = {
    {"", "int x = 5; int *p = &x; *p += 2; r = x * 10 + *p;", 77},
    {"", "int a[4] = {1, 2, 3, 4}; int *p = a; for (int i = 0; i < 4; ++i) r = r * 10 + *p++;", 1234},
    {"", "int a[4] = {1, 2, 3, 4}; int *p = a + 3; r = p[0] * 100 + p[-2] * 10 + *(p - 1);", 423},
    {"", "long a[5] = {0}; long *p = &a[1], *q = &a[4]; r = (q - p) * 10 + (p < q) + (p != q) * 100;", 131},
    {"", "int a[2] = {7, 8}; const int *p = 0; if (!p) p = &a[1]; r = p ? *p : -1; r += (p == NULL);", 8},
    {"", "short a[3] = {1, 2, 3}; short *e = a + 3; for (short *p = a; p != e; ++p) r += *p * 5;", 30},
    {"", "int a[2][3] = {{1, 2, 3}, {4, 5, 6}}; int *row = a[1]; r = row[2] * 10 + *a[0];", 61},
    {"", "bool b = false; bool *p = &b; *p = 5; r = b + 2 * *p; bool t[2] = {1, 0}; p = t; r += 10 * *p;",
     13},
    {"", "unsigned char c[3] = {1, 2, 3}; unsigned char *p = c; *++p = 300; r = c[1] + (*p)++ + c[1];",
     44 + 44 + 45},
    {"", "double d = 1.5; float f[2] = {0.5f, 2}; double *p = &d; float *q = &f[1]; *p *= *q; r = d * 4;",
     12},
    {"", "int x = 1, y = 2; int *p = &x; int *q = p; p = &y; *q = 7; *p = 8; r = x * 10 + y;", 78},
    {"", "int x = 3, y = 4; int *p = x > y ? &x : &y; *p = 9; r = x * 10 + y;", 39},
    {"static void swap(int *a, int *b) { int t = *a; *a = *b; *b = t; }",
     "int x = 1, y = 2; swap(&x, &y); int a[2] = {5, 6}; swap(a, a + 1); r = x * 1000 + y * 100 + a[0] * 10 "
     "+ "
     "a[1];",
     2165},
    {"static long total(const int values[], int n) { long s = 0; for (int i = 0; i < n; ++i) s += values[i]; "
     "return s; }",
     "int a[3] = {1, 2, 3}; r = total(a, 3) * 10 + total(&a[1], 2);", 65},
    {"static const int *largest(const int *first, const int *end) { const int *best = first; for (; first < "
     "end; ++first) "
     "if (*first > *best) best = first; return best; }",
     "int a[5] = {3, 9, 2, 8, 1}; r = largest(a, a + 5) - a + 10 * *largest(a + 2, a + 5);", 81},
    {"const int table[4] = {2, 3, 5, 7};", "const int *p = table; r = p[3] * 10 + *(p + 1);", 73},
    {"struct pair { int x; long y; };",
     "struct pair v = {1, 2}; struct pair *p = &v; p->x += 5; (*p).y = 9; r = v.x * 10 + v.y;", 69},
    {"struct pair { int x; long y; };",
     "struct pair v[3] = {{1, 2}, {3, 4}, {5, 6}}; struct pair *p = v; ++p; long *q = &p->y; *q += 10; "
     "struct "
     "pair c = p[1]; p[-1] = c; "
     "r = v[1].y * 100 + v[0].x * 10 + v[0].y;",
     1456},
    {"struct inner { int k[2]; }; struct outer { char c; struct inner in[2]; };",
     "struct outer o[2]; struct outer *p = &o[1]; p->in[1].k[0] = 4; struct inner *i = p->in; int *k = "
     "i[1].k; r = "
     "o[1].in[1].k[0] * 10 + k[0] + (k - &p->in[0].k[0]) * 100;",
     244},
    {"struct pair { int x; long y; }; static struct pair made(int x, long y) { struct pair p = {x, y}; "
     "return "
     "p; }",
     "struct pair a = made(1, 2); a = made(a.y, a.x); r = a.x * 10 + a.y + made(3, 4).y * 100;", 421},
    {"struct pair { int x; int y; }; static struct pair add(struct pair a, struct pair b) { a.x += b.x; a.y "
     "+= "
     "b.y; "
     "return a; }",
     "struct pair a = {1, 2}, b = {10, 20}; struct pair c = add(add(a, b), add(b, add(a, a))); r = c.x * "
     "1000 + c.y + a.x * 100000;",
     123046},
    {"struct row { int v[3]; int n; }; static struct row grown(struct row r) { r.v[r.n] = r.n * 7; r.n += 1; "
     "return r; }",
     "struct row a; a = grown(grown(a)); r = a.n * 100 + a.v[1] * 10 + grown(a).v[2];", 200 + 70 + 14},
    {"struct pair { int x; int y; }; static int first(const struct pair p) { return p.x; }",
     "struct pair a[2] = {{1, 2}, {3, 4}}; int i = 0; a[i++] = a[1]; r = first(a[0]) * 10 + i;", 31},
    {"struct cell { int k[2]; char c; }; struct grid { struct cell cells[2][2]; int n; }; static struct grid "
     "same(struct grid g) { return g; }",
     "struct grid a[2]; a[1].cells[1][0].k[1] = 5; a[1].cells[0][1].c = 3; a[1].n = 7; a[0] = a[1]; struct "
     "grid b "
     "= same(a[0]); r = b.cells[1][0].k[1] * 100 + b.cells[0][1].c * 10 + b.n;",
     537},
    {"", "r = 0x1.8p3 * 10 + '\\x41' + '\\101' + '\\t' + 0b101 + 017;", 120 + 65 + 65 + 9 + 5 + 15},
};

INSTANTIATE_TEST_SUITE_P(Each, Pointer, testing::ValuesIn(constructs),
                         [](const auto& each) { return numbered_name(each.index, each.param.code); });

TEST(Pointer, AccessesOutsideTheArrayAreSkipped) {
  const char* source =
      "global int a[4]; global int guard[4]; shared int s[4]; global int seen;\n"
      "ON_KERNEL_EXIT: { int *p = a; p[4] = 1; p[-1] = 1; p += 100; *p = 1; p = 0; *p = 3; int l[2]; p = l; "
      "p[2] = 1;\n"
      "  p = s; p[4] = 1; seen += p[-1]; p = &a[2]; p[1] = 7; atomicAdd(p + 2, 1); }";
  const Measured measured = measure(source, line(1));
  ASSERT_EQ(measured.failure, "");
  EXPECT_EQ(measured.dropped, 8u);
  EXPECT_EQ(measured.results.at("a"), (std::vector<double>{0, 0, 0, 7}));
  EXPECT_EQ(measured.results.at("guard"), (std::vector<double>{0, 0, 0, 0}));
}

TEST(Pointer, AtomicFunctionsTakePointers) {
  const char* source =
      "struct visit { unsigned int n; unsigned long sum; };\nglobal struct visit visits[WARPS]; global "
      "unsigned long total;\n"
      "shared unsigned int in_block;\n"
      "static void add(unsigned long *to, unsigned long x) { atomicAdd(to, x); }\n"
      "ON_KERNEL_ENTRY: { in_block = 0; syncThreads(); }\n"
      "ON_INSTRUCTION: MEM_READ: GLOBAL: { struct visit *v = &visits[warpId()]; atomicAdd(&v->n, 1); "
      "add(&v->sum, laneId()); add(&total, 1);\n"
      "  unsigned int *b = &in_block; atomicAdd(b, 1); unsigned long mine = 1; unsigned long *p = &mine; "
      "atomicAdd(p, 5); if (mine != 1) add(&total, 1000000); }\n"
      "ON_KERNEL_EXIT: { syncThreads(); if (blockThreadId() == 0) atomicAdd(&total, in_block * 1000); }\n"
      "ON_REPORT: { emit(\"n\", sum(visits.n)); emit(\"sum\", sum(visits.sum)); emit(\"total\", total); }";
  const Measured measured = measure(source, line(48, 2));
  ASSERT_EQ(measured.failure, "");
  EXPECT_EQ(measured["n"], 96);
  EXPECT_EQ(measured["sum"], 2 * (31 * 32 / 2 + 15 * 16 / 2));
  EXPECT_EQ(measured["total"], 96 + 96 * 1000);
  EXPECT_EQ(measured.dropped, 96u) << "of a thread's own variable, which atomic functions cannot change";
}

class ThreadArray : public testing::TestWithParam<std::uint32_t> {};

/// Registers if the indices are constants, local memory otherwise: both yield the same counts.
TEST_P(ThreadArray, KeepsItsValuesAcrossAllHandlers) {
  const char* source =
      "struct tally { unsigned int n[3]; double weight; };\n"
      "unsigned long fixed[4] = {100, 200}; unsigned int moving[5]; struct tally mine = {{1, 2, 3}, 0.5}; "
      "bool "
      "flags[2];\n"
      "global unsigned long f[THREADS][4]; global unsigned int m[THREADS][5]; global unsigned int "
      "n[THREADS]; "
      "global double w[THREADS];\n"
      "ON_BASIC_BLOCK_ENTRY: { fixed[0] += 1; fixed[3] = 7; moving[(basicBlockId() + laneId()) % 5] += 1; }\n"
      "ON_INSTRUCTION: MEM_WRITE: GLOBAL: { fixed[2]++; unsigned int *p = &mine.n[laneId() % 3]; *p += 10; "
      "mine.weight *= 2; "
      "flags[laneId() & 1] = true; }\n"
      "ON_KERNEL_EXIT: { unsigned long t = globalThreadId(); for (int i = 0; i < 4; ++i) f[t][i] = fixed[i]; "
      "for (int i = 0; i < 5; ++i) m[t][i] = moving[i];\n"
      "  n[t] = mine.n[0] + 100 * mine.n[1] + 10000 * mine.n[2] + 1000000 * flags[0] + 2000000 * flags[1]; "
      "w[t] = mine.weight; }\n";
  for (const std::string kernel : {"straight", "divergent"}) {
    const Shape shape = line(GetParam(), 2);
    const Measured measured = measure(source, shape, kernel);
    ASSERT_EQ(measured.failure, "");
    EXPECT_EQ(measured.dropped, 0u);
    for (std::size_t t = 0; t < 2 * GetParam(); ++t) {
      const std::size_t in_block = t % GetParam();
      const std::size_t lane = in_block % 32;
      const double stores = kernel == "straight" ? 1
                            : in_block % 2 == 0  ? 0
                                                 : static_cast<double>(in_block % 4);
      const auto& f = measured.results.at("f");
      const double blocks = f[4 * t] - 100;
      EXPECT_GE(blocks, 1);
      EXPECT_EQ(f[4 * t + 1], 200);
      EXPECT_EQ(f[4 * t + 2], stores);
      EXPECT_EQ(f[4 * t + 3], 7);
      double moved = 0;
      for (std::size_t i = 0; i < 5; ++i) moved += measured.results.at("m")[5 * t + i];
      EXPECT_EQ(moved, blocks);
      double n[3] = {1, 2, 3};
      n[lane % 3] += 10 * stores;
      const double flags = stores == 0 ? 0 : lane % 2 == 0 ? 1000000 : 2000000;
      EXPECT_EQ(measured.results.at("n")[t], n[0] + 100 * n[1] + 10000 * n[2] + flags);
      EXPECT_EQ(measured.results.at("w")[t], 0.5 * static_cast<double>(1ul << static_cast<unsigned>(stores)));
    }
  }
}

/// The bounds are known only at run time, so the loops stay loops, and the arrays are in local memory while a
/// handler runs.
TEST_P(ThreadArray, WorksInLoopsThatAreNotUnrolled) {
  const char* source =
      "unsigned int visits[48]; unsigned long turns; global unsigned long sums[THREADS]; global unsigned int "
      "last[THREADS];\n"
      "static unsigned long total(const unsigned int *first, unsigned int count) {\n"
      "  unsigned long sum = 0; for (unsigned int i = 0; i < count; ++i) sum += first[i] * (i + 1); return "
      "sum; }\n"
      "ON_INSTRUCTION: MEM_WRITE: GLOBAL: {\n"
      "  unsigned int own[40]; unsigned int bound = 9 + laneId();\n"
      "  for (unsigned int i = 0; i < bound; ++i) { own[i] = i * 3; visits[i] += 1 + own[i / 2]; }\n"
      "  unsigned int k = bound; do { --k; own[k] += visits[k]; } while (k > 0);\n"
      "  turns += total(own, bound);\n"
      "}\n"
      "ON_KERNEL_EXIT: { unsigned int bound = 10 + laneId(); sums[globalThreadId()] = turns + total(visits, "
      "bound); last[globalThreadId()] = visits[bound - 2]; }\n";
  for (const std::string kernel : {"straight", "divergent", "early"}) {
    const Measured measured = measure(source, line(GetParam(), 2), kernel);
    ASSERT_EQ(measured.failure, "");
    EXPECT_EQ(measured.dropped, 0u);
    for (std::size_t thread = 0; thread < 2 * GetParam(); ++thread) {
      const std::size_t in_block = thread % GetParam();
      const std::size_t bound = 9 + in_block % 32;
      const std::size_t stores = kernel == "straight" ? 1
                                 : kernel == "early"  ? (in_block + 1) % 2
                                                      : (in_block % 2) * (in_block % 4);
      std::vector<std::uint64_t> visits(48);
      std::uint64_t sum = 0;
      for (std::size_t store = 0; store < stores; ++store) {
        for (std::size_t i = 0; i < bound; ++i) {
          visits[i] += 1 + i / 2 * 3;
          sum += (i * 3 + visits[i]) * (i + 1);
        }
      }
      for (std::size_t i = 0; i <= bound; ++i) sum += visits[i] * (i + 1);
      EXPECT_EQ(measured.results.at("sums")[thread], static_cast<double>(sum)) << kernel << " " << thread;
      EXPECT_EQ(measured.results.at("last")[thread], static_cast<double>(visits[bound - 1]));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, ThreadArray, testing::Values(1u, 31u, 33u, 96u));

}  // namespace
}  // namespace lynxpp::cod
