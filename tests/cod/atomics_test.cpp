// `a[i] op= x` on elements that several threads update, and atomic functions with indices known only at run
// time: exact for every block size.
#include <gtest/gtest.h>

#include <set>

#include "tests/cod/conformance_fixture.h"

namespace lynxpp::cod {
namespace {

class Updates : public testing::TestWithParam<std::uint32_t> {
 protected:
  Shape shape() const { return {{3, 1, 1}, {GetParam(), 1, 1}}; }
  double threads() const { return 3.0 * GetParam(); }
  Measured run(const std::string& source, const std::string& kernel = "straight") const {
    Measured measured = measure(source, shape(), kernel);
    EXPECT_EQ(measured.failure, "");
    EXPECT_EQ(measured.dropped, 0u);
    return measured;
  }
};

TEST_P(Updates, AddUpWhereThreadsConflict) {
  const Measured measured =
      run("global long a[4]; global double d; global float f; global char c[4]; global unsigned short h[3];\n"
          "global unsigned long tickets[THREADS]; global int steps[THREADS];\n"
          "ON_KERNEL_EXIT: { a[0] += 2; a[1] -= laneId(); a[2]++; --a[3]; d += 0.5; f -= 1; c[1] += 1; "
          "c[2]--; h[1] += "
          "257; }\n"
          "global unsigned long next; global unsigned int down;\n"
          "ON_KERNEL_ENTRY: { tickets[globalThreadId()] = next++; steps[globalThreadId()] = --down; }\n");
  EXPECT_EQ(measured.results.at("a")[0], 2 * threads());
  double lanes = 0;
  for (std::uint32_t i = 0; i < GetParam(); ++i) lanes += 3 * (i % 32);
  EXPECT_EQ(measured.results.at("a")[1], -lanes);
  EXPECT_EQ(measured.results.at("a")[2], threads());
  EXPECT_EQ(measured.results.at("a")[3], -threads());
  EXPECT_EQ(measured["d"], threads() / 2);
  EXPECT_EQ(measured["f"], -threads());
  const auto count = static_cast<std::int64_t>(threads());
  EXPECT_EQ(measured.results.at("c")[0], 0);
  EXPECT_EQ(measured.results.at("c")[1], static_cast<signed char>(count));
  EXPECT_EQ(measured.results.at("c")[2], static_cast<signed char>(-count));
  EXPECT_EQ(measured.results.at("c")[3], 0);
  EXPECT_EQ(measured.results.at("h")[1], static_cast<unsigned short>(257 * count));
  EXPECT_EQ(measured.results.at("h")[2], 0);
  const auto& tickets = measured.results.at("tickets");
  EXPECT_EQ(std::set<double>(tickets.begin(), tickets.end()).size(), tickets.size())
      << "each thread has its own";
  const auto& steps = measured.results.at("steps");
  EXPECT_EQ(std::set<double>(steps.begin(), steps.end()).size(), steps.size());
}

TEST_P(Updates, OtherOperatorsLoseNothing) {
  const Measured measured =
      run("global unsigned long bits[2]; global unsigned char parity[3]; global int wide;\n"
          "ON_KERNEL_ENTRY: { bits[0] |= 1UL << (globalThreadId() % 48); bits[1] ^= globalThreadId(); "
          "parity[1] ^= 3;\n"
          "  wide += 0.5; }\n"
          "ON_KERNEL_EXIT: { if (blockThreadId() == 0) { parity[2] |= 1 << blockId(); } }\n");
  std::uint64_t ors = 0;
  std::uint64_t xors = 0;
  for (std::uint64_t i = 0; i < 3ull * GetParam(); ++i) {
    ors |= std::uint64_t{1} << (i % 48);
    xors ^= i;
  }
  EXPECT_EQ(measured.results.at("bits")[0], static_cast<double>(ors));
  EXPECT_EQ(measured.results.at("bits")[1], static_cast<double>(xors));
  EXPECT_EQ(measured.results.at("parity")[1], GetParam() % 2 == 0 ? 0 : 3);
  EXPECT_EQ(measured.results.at("parity")[2], 7);
  EXPECT_EQ(measured["wide"], 0) << "0 + 0.5 is cut to 0, as in C";
}

TEST_P(Updates, SupportIndicesKnownOnlyAtRunTime) {
  for (const std::string kernel : {"straight", "divergent", "early"}) {
    const Measured measured = run(
        "global unsigned long one[8]; global unsigned long some[8]; global unsigned int narrow[8];\n"
        "unsigned int visits;\n"
        "ON_INSTRUCTION: MEM_READ: GLOBAL: { unsigned int all = 0; all += 5; unsigned int k = "
        "blockThreadId() % 8;\n"
        "  k = k * 1; atomicAdd(&one[all], laneId() + 1); atomicAdd(&some[k], 3); narrow[k / 4] += k; }\n",
        kernel);
    double one = 0;
    std::vector<double> some(8);
    std::vector<double> narrow(8);
    for (std::uint32_t thread = 0; thread < GetParam(); ++thread) {
      const std::uint32_t loads = kernel == "straight" ? 1
                                  : kernel == "early"  ? (thread % 2 == 0 ? 1 : 0)
                                                       : (thread % 2 == 0 ? 0 : thread % 4);
      one += 3.0 * loads * (thread % 32 + 1);
      some[thread % 8] += 9.0 * loads;
      narrow[thread % 8 / 4] += 3.0 * loads * (thread % 8);
    }
    EXPECT_EQ(measured.results.at("one")[5], one) << kernel;
    EXPECT_EQ(measured.results.at("some"), some) << kernel;
    EXPECT_EQ(measured.results.at("narrow"), narrow) << kernel;
  }
}

/// Lanes that jump to a case skip the declarations before it: these variables are 0 instead of initialised.
TEST_P(Updates, SupportIndicesWhoseDeclarationAJumpSkips) {
  const Measured measured =
      run("global unsigned int own[THREADS]; global unsigned long warps[200]; global unsigned int "
          "inner[2];\n"
          "ON_KERNEL_EXIT: {\n"
          "  switch (blockThreadId() % 2) {\n"
          "    case 0:;\n"
          "      unsigned long thread = globalThreadId();\n"
          "      unsigned long warp = warpId() + 1;\n"
          "      unsigned int one = 1;\n"
          "    default:\n"
          "      own[thread] += 1;\n"
          "      warps[warp] += 1;\n"
          "      switch (one) { case 0: case 1: { unsigned int k = 1; inner[k] += 1; } }\n"
          "      inner[one] += 2;\n"
          "  }\n"
          "}");
  const std::uint32_t even = (GetParam() + 1) / 2;
  const std::uint32_t odd = GetParam() / 2;
  EXPECT_EQ(measured.results.at("own")[0], 3.0 * odd + 1);
  double others = 0;
  for (std::size_t i = 1; i < measured.results.at("own").size(); ++i) others += measured.results.at("own")[i];
  EXPECT_EQ(others, 3.0 * even - 1);
  EXPECT_EQ(measured.results.at("warps")[0], 3.0 * odd);
  double rest = 0;
  for (std::size_t i = 1; i < measured.results.at("warps").size(); ++i)
    rest += measured.results.at("warps")[i];
  EXPECT_EQ(rest, 3.0 * even);
  EXPECT_EQ(measured.results.at("inner")[0], 6.0 * odd);
  EXPECT_EQ(measured.results.at("inner")[1], threads() + 6.0 * even);
}

TEST_P(Updates, WorkInSharedMemory) {
  const Measured measured =
      run("shared unsigned int words[WARPS_PER_BLOCK]; shared unsigned char bytes[4]; shared float real;\n"
          "global unsigned int result[WARPS]; global unsigned char low[BLOCKS]; global float sums[BLOCKS];\n"
          "ON_KERNEL_ENTRY: { if (blockThreadId() < 32) words[blockThreadId()] = 0; bytes[2] = 0; real = 0; "
          "syncThreads(); }\n"
          "ON_INSTRUCTION: MEM_WRITE: GLOBAL: { words[blockThreadId() / 32] += 3; ++bytes[2]; real += 2; }\n"
          "ON_KERNEL_EXIT: { syncThreads(); result[warpId()] = words[blockThreadId() / 32]; low[blockId()] = "
          "bytes[2];\n"
          "  sums[blockId()] = real; }");
  double sum = 0;
  for (const double each : measured.results.at("result")) sum += each;
  EXPECT_EQ(sum, 3 * threads());
  EXPECT_EQ(measured.results.at("low")[1], GetParam() % 256);
  EXPECT_EQ(measured.results.at("sums")[2], 2.0 * GetParam());
}

/// The fixture compares the program's output: its own static and dynamic shared memory must not change.
TEST_P(Updates, LeaveTheProgramsOwnSharedMemoryUnchanged) {
  const Measured measured =
      run("shared unsigned char odd[1001]; shared unsigned long words[THREADS_PER_BLOCK]; shared unsigned "
          "short last[3];\n"
          "global unsigned long sum[BLOCKS]; global unsigned long bytes;\n"
          "ON_KERNEL_ENTRY: { for (int i = blockThreadId(); i < 1001; i += blockDim()) odd[i] = 0xff;\n"
          "  words[blockThreadId()] = blockThreadId(); last[2] = 0xffff; syncThreads(); }\n"
          "ON_INSTRUCTION: SHARED: { words[blockThreadId()] += 1UL << 32; odd[blockThreadId() % 1001] ^= "
          "0xff; }\n"
          "ON_KERNEL_EXIT: { syncThreads(); sum[blockId()] += words[blockThreadId()]; if (last[2] == 0xffff) "
          "bytes += 1; }",
          "exchange");
  const double each = 4.0 * 4294967296.0 * GetParam() + GetParam() * (GetParam() - 1.0) / 2;
  for (const double sum : measured.results.at("sum")) EXPECT_EQ(sum, each);
  EXPECT_EQ(measured["bytes"], threads());
}

INSTANTIATE_TEST_SUITE_P(Sizes, Updates, testing::Values(1, 31, 32, 33, 96, 1024));

}  // namespace
}  // namespace lynxpp::cod
